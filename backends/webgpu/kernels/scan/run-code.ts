import type { MonoidProgram } from '../../../../primitives/contract/backend.ts';
import { createCache } from '../../../../primitives/host/cache.ts';
import { entryOf, moduleNumber } from '../../../../primitives/ir/ir.ts';
import type { Bindings } from '../../launches/bindings.ts';
import {
  capturesOf,
  emitReader,
  fromWord,
  type LinkedArray,
  type LinkedProgram,
  packing,
  reaches,
} from '../../launches/link.ts';
import { parameter } from '../../launches/parameters.ts';
import { emitModule, type Shader, type WgslEnvironment } from '../../wgsl/emit-wgsl.ts';
import { type RunFunction, type Tap, type Unrolled, unroll } from '../../wgsl/unroll.ts';
import { lines } from '../shared/lines.ts';
import type { KernelSource } from '../shared/source.ts';
import { type BoundStore, emitStoresOf } from '../shared/stores.ts';
import type { BoundScan, Sink } from './scan-sink.ts';

/**
 * WGSL of a scan's programs, unrolled for runs (adjacent elements of one thread). Runs are numbered from 0. `first` is
 * WGSL of the index at which a run starts, which is a multiple of the run's length. For each run, the statements of
 * `read` must precede the statements of `write`.
 */
export interface RunCode {
  /** Identifies this code in the cache of pipelines, together with the key of the scan. */
  readonly key: string;
  functions(shader: Shader): string;
  /**
   * Statements that evaluate the elements of a run (adjacent elements of one thread). After these statements,
   * `leaf(run, k, leaf)` is a WGSL expression for a leaf of element k.
   */
  read(run: number, first: string): string;
  leaf(run: number, k: number, leaf: number): string;
  /**
   * Statements that store the results of a run (adjacent elements of one thread). `states` are the names of the
   * variables that hold states. `head(k)` is a WGSL condition that is true if element k is a head (starts a segment).
   */
  write(run: number, first: string, states: readonly string[], head: (k: number) => string): string;
}

/**
 * The arrays and uniforms of a scan's two programs, by slot number. `of` is 0 for the program that evaluates the
 * elements and 1 for the emit program.
 */
interface Captures {
  readonly arrays: readonly { readonly of: 0 | 1; readonly array: LinkedArray; readonly binding: number | undefined }[];
  readonly uniforms: readonly { readonly of: 0 | 1; readonly name: string }[];
}

/** The length of runs (adjacent elements of one thread) and the form of their elements. */
export interface RunPlan {
  readonly run: number;
  /**
   * Whether the first leaf (scalar component) of every element is a head flag (the element starts a segment). The
   * unrolled code returns this flag as a bool.
   */
  readonly heads: boolean;
}

/**
 * Unrolls the programs of a scan. Returns undefined if the programs are not straight-line code or nothing is stored.
 */
export function codeRuns(
  { types }: MonoidProgram,
  source: KernelSource,
  { emit }: Sink,
  bound: BoundScan,
  { run, heads }: RunPlan,
): RunCode | undefined {
  const programs = [source.program, emit] as const;
  const captures = capturesOfBoth(bound.programs);
  const { unrolled, key } = unrolledOnce(programs, captures, types, run, heads);
  if (unrolled === undefined || bound.stores.length === 0) return undefined;
  const { taps, element, emit: consumer } = unrolled;
  const slots = [...new Set(taps.map(({ slot }) => slot))];
  const byFours = slots.filter((slot) => run % 4 === 0 && readsByFours(captures.arrays[slot]!, bound.bindings));
  const load = (j: number, first: string, numbers: readonly number[]): string =>
    loadTaps(j, first, numbers, taps, captures, new Set(byFours));
  const args = (j: number, { taps: numbers }: RunFunction): string[] => numbers.map((number) => `t${j}_${number}`);
  const stores = heads ? bound.stores.map(withRoom) : bound.stores;
  const results = entryOf(emit.module).results;
  return {
    key: `${key} ${byFours.join('.')} ${stores.map(({ store }) => store.hasRoom).join()}`,
    functions: (shader) => {
      const readers = slots
        .filter((slot) => !byFours.includes(slot))
        .map((slot) => {
          const { array, binding } = captures.arrays[slot]!;
          return emitReader(`tap_${slot}`, { ...array, isInside: true }, binding);
        });
      const environment = { ...shader, ...environmentOf(programs, captures) };
      const elements = emitModule(element.module, { ...environment, prefix: 'pr_' });
      return [...readers, elements, emitModule(consumer.module, { ...environment, prefix: 'er_' })].join('\n');
    },
    read: (j, first) => `${load(j, first, element.taps)}
let r${j} = pr_entry(${[first, ...args(j, element)].join(', ')});`,
    leaf: (j, k, leaf) => `r${j}.r${k * types.length + leaf}`,
    write: (j, first, states, head) => {
      const leaves = states.flatMap((state) => types.map((_, leaf) => `${state}.a${leaf}`));
      return `${load(j, first, consumer.taps)}
let r = er_entry(${[first, ...args(j, consumer), ...consumer.heads.map(head), ...leaves].join(', ')});
${lines(run, (k) => emitStoresOf(stores, results, (at) => `r.r${k * results.length + at}`, `${first} + ${k}u`))}`;
    },
  };
}

/**
 * Omits the capacity check of a store of a segmented scan if the capacity is at least the extent. The index of this
 * store is a segment number, which is always below the extent.
 */
function withRoom(bound: BoundStore): BoundStore {
  const { store } = bound;
  return { ...bound, store: { ...store, hasRoom: store.holdsExtent } };
}

function capturesOfBoth(programs: BoundScan['programs']): Captures {
  const arrays = programs.flatMap(({ program, slots }, of) =>
    program.arrays.map((array) => ({ of: of as 0 | 1, array, binding: slots.get(array.name) })),
  );
  const uniforms = programs.flatMap(({ program }, of) =>
    [...program.uniforms.keys()].map((name) => ({ of: of as 0 | 1, name })),
  );
  return { arrays, uniforms };
}

/** Whether two captured arrays have the same elements and length. */
function isSame(a: LinkedArray, b: LinkedArray): boolean {
  const place = a.memory === b.memory && a.offset === b.offset && a.storage === b.storage && a.type === b.type;
  return place && reaches(a.bound, b.bound) && reaches(b.bound, a.bound);
}

/** Maximum number of cached unrolled programs. Programs that repeat their work need far fewer. */
const MAX_UNROLLED = 512;

const unrolledByKey = createCache<string, { readonly unrolled: Unrolled | undefined }>({ max: MAX_UNROLLED });

/** Unrolls programs. The key of the cached result includes the modules and facts about their arrays and uniforms. */
function unrolledOnce(
  programs: readonly [LinkedProgram, LinkedProgram],
  { arrays, uniforms }: Captures,
  types: MonoidProgram['types'],
  run: number,
  heads: boolean,
): { readonly unrolled: Unrolled | undefined; readonly key: string } {
  const firstSlots = arrays.map(({ array }) => arrays.findIndex((other) => isSame(other.array, array)));
  // For each array, whether it is at least as long as the extent. An array whose elements are passed as kernel
  // parameters counts as shorter.
  const covers = arrays.map(({ array: { covers, cells } }) => covers && cells === undefined);
  const bounds = uniforms.map(({ of, name }) => programs[of].bounds.has(name));
  const modules = programs.map(({ module }) => moduleNumber(module));
  const key = `runs ${modules} ${types} ${run} ${heads} ${firstSlots} ${covers} ${bounds}`;
  let known = unrolledByKey.get(key);
  if (known === undefined) {
    const slotsOf = (of: 0 | 1) => ({
      module: programs[of].module,
      slots: {
        array: (name: string) => firstSlots[arrays.findIndex((each) => each.of === of && each.array.name === name)]!,
        uniform: (name: string) => uniforms.findIndex((each) => each.of === of && each.name === name),
      },
    });
    const facts = {
      array: String,
      uniform: String,
      covers: (slot: number) => covers[slot]!,
      bounds: (slot: number) => bounds[slot]!,
    };
    known = { unrolled: unroll(slotsOf(0), slotsOf(1), types, run, heads, facts) };
    unrolledByKey.set(key, known);
  }
  return { ...known, key };
}

/**
 * Whether four words of an array can be read by one load. Runs start at multiples of four, so the array must start at a
 * multiple of four words too.
 */
function readsByFours({ array, binding }: Captures['arrays'][number], bindings: Bindings): boolean {
  return packing(array.storage) === 0 && array.offset % 4 === 0 && bindings.readByFours(binding!);
}

function environmentOf(
  programs: readonly [LinkedProgram, LinkedProgram],
  { arrays, uniforms }: Captures,
): Pick<WgslEnvironment, 'read' | 'length' | 'uniform'> {
  const captures = programs.map(capturesOf);
  const arrayOf = (slot: string): Captures['arrays'][number] => arrays[Number(slot)]!;
  return {
    read: (slot, index) => captures[arrayOf(slot).of]!.read(arrayOf(slot).array.name, index),
    length: (slot) => captures[arrayOf(slot).of]!.length(arrayOf(slot).array.name),
    uniform: (slot, type) => {
      const { of, name } = uniforms[Number(slot)]!;
      return captures[of]!.uniform(name, type);
    },
  };
}

/** WGSL statements that read the taps of a run (elements at fixed distances from the run's first index). */
function loadTaps(
  j: number,
  first: string,
  numbers: readonly number[],
  taps: readonly Tap[],
  { arrays }: Captures,
  byFours: ReadonlySet<number>,
): string {
  const lines: string[] = [];
  const bind = (number: number, value: string): void => {
    lines.push(`let t${j}_${number} = ${value};`);
  };
  for (const slot of new Set(numbers.map((number) => taps[number]!.slot))) {
    const own = numbers.filter((number) => taps[number]!.slot === slot);
    if (!byFours.has(slot)) {
      for (const number of own) bind(number, `tap_${slot}(${shifted(first, taps[number]!.shift)})`);
      continue;
    }
    const { array, binding } = arrays[slot]!;
    const quad = `z${j}_${slot}`;
    lines.push(`let ${quad} = (${first} + ${parameter(array.offsetWord)}) >> 2u;`);
    const fourOf = (number: number): number => Math.floor(taps[number]!.shift / 4);
    for (const four of new Set(own.map(fourOf))) {
      const words = own.filter((number) => fourOf(number) === four);
      const word = (number: number): string => 'xyzw'[taps[number]!.shift - 4 * four]!;
      const at = shifted(quad, four);
      const value = `${quad}_${lines.length}`;
      if (words.length > 1) lines.push(`let ${value} = quad_${binding}(${at});`);
      for (const number of words) {
        const read = words.length > 1 ? `${value}.${word(number)}` : `quad_${binding}_${word(number)}(${at})`;
        bind(number, fromWord(array.type, read));
      }
    }
  }
  return lines.join('\n');
}

function shifted(index: string, shift: number): string {
  return shift === 0 ? index : shift < 0 ? `${index} - ${-shift}u` : `${index} + ${shift}u`;
}
