import { capacityOf, type Extent, type Program, type Store } from '../../../../primitives/contract/backend.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import { storesAlone } from '../../../analyses/store-alone.ts';
import type { Engine } from '../../launches/engine.ts';
import { packing } from '../../launches/link.ts';
import { dispatchWord, GROUP_NUMBER, lengthExpression } from '../../launches/parameters.ts';
import { resultType } from '../../wgsl/emit-wgsl.ts';
import { type GatherPrograms, splitGather } from '../../wgsl/gather-modules.ts';
import { isLight } from '../../wgsl/module-size.ts';
import { zeroOf } from '../../wgsl/wgsl-operations.ts';
import { lines } from '../shared/lines.ts';
import { emitStores } from '../shared/stores.ts';
import { runStoring } from '../shared/storing.ts';

interface Gather {
  readonly programs: GatherPrograms;
  readonly stores: readonly Store[];
  /** Number of elements of the array that is gathered from. */
  readonly elements: number;
}

/**
 * Gathers from an array that exceeds the device's cache. The array is split into windows, which are read one after the
 * other. Each thread first computes the array indices of many elements. The thread then reads the elements in the first
 * window, then the elements in the second window, and so on. All threads are in the same window at about the same time,
 * so a cache line that one thread reads is still in the cache when other threads need it. There are no barriers.
 *
 * @returns false, without a launch, if the program is not a gather or if the sizes do not make windows worthwhile.
 */
export function gatherInWindows(engine: Engine, extent: Extent, program: Program, stores: readonly Store[]): boolean {
  const { min, threads } = engine.tuning.gather;
  if (capacityOf(extent) < min || engine.threads < threads) return false;
  const whole = gatherOf(engine, program, stores);
  const gathers =
    whole === undefined
      ? storesAlone(program, stores)?.map((alone) => gatherOf(engine, alone.program, [alone.store]))
      : [whole];
  if (!gathers?.every((gather) => gather !== undefined)) return false;
  for (const gather of gathers) runGather(engine, extent, gather);
  return true;
}

function gatherOf({ tuning, pool }: Engine, program: Program, stores: readonly Store[]): Gather | undefined {
  const { min, max } = tuning.gather;
  // Exclude programs with an array that is split over several GPU buffers. If such an array were read both at the
  // launch index and at other indices, it would have to be bound twice.
  const isWhole = [...program.arrays.values()].every(({ buffer }) => pool.resolve(buffer).parts.length === 1);
  const programs = isWhole && isLight(program.module) ? splitGather(program) : undefined;
  if (programs === undefined) return undefined;
  const { storage, length } = programs.take.arrays.get(programs.array)!;
  const elements = capacityOf(length);
  const words = elements >>> packing(storage);
  return words >= min && words <= max ? { programs, stores, elements } : undefined;
}

function runGather(engine: Engine, extent: Extent, { programs, stores, elements }: Gather): void {
  const { threads, items, windows } = engine.tuning.gather;
  const { place, take, finish } = programs;
  const { results } = entryOf(finish.module);
  const [type] = entryOf(take.module).results;
  const each = (line: (k: number) => string): string => lines(items, line);
  const named = new Map([
    ['p_', place],
    ['t_', take],
    ['f_', finish],
  ]);
  runStoring(engine, extent, named, stores, {
    key: 'gather',
    threads,
    items,
    words: [Math.ceil(elements / windows), elements],
    text: (length, bound) => ({
      declarations: `fn put(i: u32, r: ${resultType('f_', 'entry', results)}) {
${emitStores(bound, results)}
}`,
      main: `let n = min(${lengthExpression(length)}, ${dispatchWord(1)});
let base = ${dispatchWord(0)} + ${GROUP_NUMBER} * ${threads * items}u + t;
if (base >= n) { return; }
${each((k) => `let i${k} = min(base + ${k * threads}u, n - 1u); let a${k} = p_entry(i${k}); var v${k} = ${zeroOf(type!)};`)}
let size = ${dispatchWord(2)};
let end = ${dispatchWord(3)};
if (${nested('max', items)} - ${nested('min', items)} < size) {
${each((k) => `v${k} = t_entry(i${k}, a${k});`)}
} else {
  for (var window = 0u; window < end; window += size) {
${each((k) => `if (a${k} - window < size) { v${k} = t_entry(i${k}, a${k}); }`)}
  }
}
${each((k) => (k === 0 ? 'put(i0, f_entry(i0, v0));' : `if (base + ${k * threads}u < n) { put(i${k}, f_entry(i${k}, v${k})); }`))}`,
    }),
  });
}

/** WGSL expression of the minimum or maximum of `a0`, `a1`, …, the indices at which a thread reads the array. */
function nested(name: 'min' | 'max', items: number): string {
  return Array.from({ length: items }, (_, k) => `a${k}`).reduce((all, one) => `${name}(${all}, ${one})`);
}
