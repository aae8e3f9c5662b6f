import { capacityOf, type Extent, type Program, type Store } from '../../../primitives/backend.ts';
import { entryOf } from '../../../primitives/functors/ir.ts';
import { createBindings } from '../bindings.ts';
import { resultType } from '../emit-wgsl.ts';
import { type Engine, launch, placeParameters, tooManyBindings } from '../engine.ts';
import { boundArrays, emitProgram, type LinkedProgram, linkProgram, programKey } from '../link.ts';
import type { Memory } from '../memory.ts';
import { isLight } from '../module-size.ts';
import {
  createParameters,
  dispatchWord,
  GROUP_NUMBER,
  type LengthWords,
  lengthExpression,
  type Parameters,
} from '../parameters.ts';
import { separate } from '../snapshot.ts';
import type { Helper } from '../wgsl-helpers.ts';
import { packArrays } from './for-each-plan.ts';
import {
  bindGroup,
  emitStores,
  groupStores,
  type LinkedStore,
  linkStores,
  type StoreGroup,
  storesKey,
} from './stores.ts';
import {
  bindPlacements,
  countBindings,
  type Placements,
  placeArray,
  placeArrays,
  shorterWindows,
  type Window,
  windowsOf,
} from './windows.ts';

/** The data of one command, linked once for all its launches. */
interface Linked {
  readonly parameters: Parameters;
  readonly length: LengthWords;
  readonly program: LinkedProgram;
}

/** Evaluates a program for every index and stores its results; see the contract. */
export function forEach(engine: Engine, extent: Extent, program: Program, stores: readonly Store[]): void {
  const capacity = capacityOf(extent);
  if (capacity === 0 || stores.length === 0) return;
  const { pool } = engine;
  const buffers = stores.map(({ buffer }) => buffer);
  const inputs = separate(engine, extent, [program] as const, buffers);
  const parameters = createParameters(pool);
  const written = linkStores(stores, parameters, pool);
  const linked: Linked = {
    parameters,
    length: parameters.length(inputs.extent),
    program: linkProgram('p_', inputs.programs[0], parameters, pool),
  };
  for (const window of planWindows(engine, capacity, linked.program, written)) {
    runWindow(engine, linked, window, written);
  }
  inputs.release();
}

function planWindows(
  engine: Engine,
  capacity: number,
  program: LinkedProgram,
  stores: readonly LinkedStore[],
): readonly Window[] {
  const windows = windowsOf(capacity, [program], stores);
  const arrays = boundArrays(program);
  const first = arrays.map((array) => placeArray(array, windows[0]!));
  if (countBindings(first) < engine.limits.storageBuffers) return windows;
  // The arrays will be packed: windows are so short that a part holds all of what they read at their own index.
  const linear = arrays.filter(({ pattern }) => pattern.kind === 'index').length;
  const slack = 2;
  return shorterWindows(windows, Math.max(1, Math.floor(engine.pool.partWords / Math.max(1, linear)) - slack));
}

function runWindow(engine: Engine, linked: Linked, window: Window, stores: readonly LinkedStore[]): void {
  const { limits, pool } = engine;
  const placements = placeArrays(linked.program, window);
  let packed: Memory | undefined;
  if (countBindings(placements.values()) >= limits.storageBuffers) {
    packed = packArrays(engine, linked.program, window, placements);
  }
  const reads = countBindings(placements.values());
  if (reads >= limits.storageBuffers) throw tooManyBindings(reads + 1, limits.storageBuffers);
  for (const group of groupStores(stores, window, limits.storageBuffers - reads)) {
    launchGroup(engine, linked, window, placements, group);
  }
  if (packed !== undefined) pool.release(packed);
}

function launchGroup(
  engine: Engine,
  { parameters, length, program }: Linked,
  window: Window,
  placements: Placements,
  group: readonly StoreGroup[],
): void {
  const bindings = createBindings();
  const slots = bindPlacements(program, placements, bindings, parameters);
  const stores = bindGroup(group, bindings, parameters);
  const { threads } = engine.tuning.forEach;
  const items = isLight(program.module) ? engine.tuning.forEach.items : 1;
  launch(engine, {
    key: `each ${threads}.${items} ${programKey(program, slots)} ${storesKey(stores)}`,
    parameters,
    slot: placeParameters(engine, parameters),
    bindings,
    groups: Math.ceil((window.to - window.from) / (threads * items)),
    words: [window.from, window.to],
    code: () => {
      const helpers = new Set<Helper>();
      const { results } = entryOf(program.module);
      return {
        threads,
        helpers,
        declarations: `${emitProgram(program, slots, engine.arithmetic, helpers)}
fn put(i: u32, r: ${resultType('p_', 'entry', results)}) {
${emitStores(stores, results)}
}`,
        main: `let n = min(${lengthExpression(length)}, ${dispatchWord(1)});
let base = ${dispatchWord(0)} + ${GROUP_NUMBER} * ${threads * items}u + t;
if (base >= n) { return; }
${emitItems(threads, items)}`,
      };
    },
  });
}

/** Evaluates all items before it stores any: what they read is then under way at the same time. */
function emitItems(threads: number, items: number): string {
  const numbers = Array.from({ length: items }, (_, k) => k);
  return [
    ...numbers.map((k) => `let i${k} = base + ${k * threads}u; let r${k} = p_entry(min(i${k}, n - 1u));`),
    ...numbers.map((k) => (k === 0 ? 'put(i0, r0);' : `if (i${k} < n) { put(i${k}, r${k}); }`)),
  ].join('\n');
}
