import { afterAll, beforeAll, describe, expect } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { createWebGpuBackend, type WebGpuBackend, type WebGpuOptions } from '../../backends/webgpu/backend.ts';
import { defaultTuning, type Tuning } from '../../backends/webgpu/tuning/tuning.ts';
import { testAdapter } from '../../backends/webgpu-node/node-gpu.ts';
import type {
  ArrayBinding,
  Backend,
  DeviceBuffer,
  MonoidProgram,
  Program,
  Storage,
} from '../../primitives/contract/backend.ts';
import type { Literal, Local, Module, Operand, OperationName, ScalarType, Statement } from '../../primitives/ir/ir.ts';
import { bitsOfF32, f32OfBits } from '../../primitives/ir/semantics.ts';
import { openPooledGpu } from './pooled-gpu.ts';

let gpu: GPU | undefined;

/** Opens a backend on the adapter on which tests run. */
export async function openTestBackend(options: WebGpuOptions = {}): Promise<WebGpuBackend> {
  gpu ??= await openPooledGpu();
  return createWebGpuBackend({ gpu, adapter: testAdapter(), ...options });
}

/** Runs a test body on a new backend, and closes the backend. */
export async function withBackend<R>(options: WebGpuOptions, body: (backend: WebGpuBackend) => Promise<R>): Promise<R> {
  const backend = await openTestBackend(options);
  try {
    return await body(backend);
  } finally {
    await backend.close();
  }
}

/**
 * Number of threads per workgroup with which a workgroup has only a few subgroups. A subgroup has 4 lanes on the
 * software adapter, and up to 64 lanes on other adapters.
 */
export const FEW_THREADS: number = testAdapter() === 'software' ? 16 : 64;

/**
 * Options of backends, each with a name. Each configuration uses other code for the same kernels, or divides launches
 * differently.
 */
export const configurations: readonly (readonly [name: string, options: WebGpuOptions])[] = [
  ['as tuned for the device', {}],
  ['by workgroups', { tuning: byWorkgroups() }],
  ['by workgroups without subgroups', { tuning: { ...byWorkgroups(), blockRows: 1, subgroups: false } }],
  ['looking back', { tuning: lookingBack({}) }],
  [
    'looking back past silent tiles, few subgroups per workgroup',
    { tuning: lookingBack({ threads: FEW_THREADS, mute: 3 }) },
  ],
  ['in bindings of 4 KiB', { limits: { bindingBytes: 4096, workgroups: 4, storageBuffers: 8 } }],
  ['with 4 bindings', { limits: { storageBuffers: 4, workgroups: 4 } }],
];

function byWorkgroups(): Partial<Tuning> {
  const { scan, sort, histogram } = defaultTuning;
  return {
    forEach: { threads: 64, items: 2, groups: 2 },
    histogram,
    blockBy: 'workgroup',
    blockRows: 2,
    reduce: { threads: 64, tile: 256, groups: 8, tries: 1 },
    scan: { ...scan, lookBack: false },
    sort: { ...sort, tile: 512, sweep: { ...sort.sweep, on: false } },
  };
}

/**
 * A tuning with look-back (a tile reads the results that earlier tiles publish) and small workgroups. Workgroups must
 * be small, because the counts of all subgroups must fit in workgroup memory, and subgroups have only 4 lanes on
 * the software adapter. If `mute` is given, every `mute`-th tile publishes no result.
 */
export function lookingBack({ threads = 64, ...silence }: { threads?: number; mute?: number }): Tuning {
  const { scan, sort } = defaultTuning;
  return {
    ...defaultTuning,
    blockBy: 'workgroup',
    reduce: { threads: 64, tile: 128, groups: 24, tries: 1, ...silence },
    scan: { ...scan, threads, items: 8, heads: { threads, words: 16 }, tries: 1, ...silence },
    sort: {
      ...sort,
      sweep: {
        on: true,
        threads: 64,
        keys: 4,
        alone: silence.mute === undefined ? 4 : 0,
        parts: 2,
        few: { rows: 300, keys: 3, parts: 1 },
        ahead: 3,
        groups: 8,
        minTiles: 1,
        tries: 1,
        ...silence,
      },
    },
  };
}

/**
 * A tuning for testing, on small columns, the gather and scatter that are meant for columns larger than a cache. The
 * gather reads an array in `windows` slices. The scatter first groups rows by target. Both start at `min` rows.
 */
export function placing(min: number, items: number, windows: number): Partial<Tuning> {
  const { sort } = defaultTuning;
  const sweep = { ...sort.sweep, on: true, threads: 64, keys: 4, few: { rows: 300, keys: 3, parts: 1 }, minTiles: 1 };
  return {
    blockBy: 'workgroup',
    gather: { threads: 64, items, windows, min, max: 2 ** 30 },
    scatter: { min },
    sort: { ...sort, sweep },
  };
}

/** Opens a backend for each configuration, and declares the same tests for each backend. */
export function describeConfigurations(
  declare: (backend: () => WebGpuBackend) => void,
  tried: typeof configurations = configurations,
): void {
  describe.each(tried)('on WebGPU, %s', (_, options) => {
    let backend: WebGpuBackend;
    beforeAll(async () => {
      backend = await openTestBackend(options);
    }, 60_000);
    afterAll(async () => {
      const { liveBuffers } = backend.counters;
      await backend.close();
      expect(liveBuffers).toBe(0);
    });
    declare(() => backend);
  });
}

/** Runs commands on a backend and on the reference. Expects equal words from both. */
export async function expectAgreement(
  backend: Backend,
  run: (backend: Backend, keep: (buffer: DeviceBuffer) => DeviceBuffer) => Promise<readonly Uint32Array[]>,
): Promise<void> {
  const results: (readonly Uint32Array[])[] = [];
  for (const one of [backend, createReferenceBackend()]) {
    const kept: DeviceBuffer[] = [];
    results.push(
      await run(one, (buffer) => {
        kept.push(buffer);
        return buffer;
      }),
    );
    for (const buffer of kept) one.release(buffer);
  }
  expect(results[0]!.map(({ length }) => length)).toEqual(results[1]!.map(({ length }) => length));
  const differing = results[0]!.flatMap((column, i) => {
    const other = results[1]![i]!;
    const at = column.findIndex((word, j) => word !== other[j]);
    return at < 0 ? [] : [`column ${i}, word ${at}: ${column[at]}, not ${other[at]}`];
  });
  expect(differing).toEqual([]);
}

/** Timeout of a test in milliseconds. It is long enough for a software GPU on a busy machine. */
export const slow = 120_000;

/** Row counts around the limits of quads, subgroups, workgroups, blocks, tiles and small bindings. */
export const edgeSizes: readonly number[] = [
  0, 1, 3, 4, 5, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 2047, 2049, 3100,
];

export const local = (type: ScalarType, id: number): Local => ({ kind: 'local', type, id });
export const literal = (type: ScalarType, value: number | boolean): Literal => ({ kind: 'literal', type, value });

export const bind = (result: Local, name: OperationName, ...operands: Operand[]): Statement => ({
  kind: 'let',
  local: result,
  operation: { name, operands },
});
export const readAt = (result: Local, array: string, index: Operand): Statement => ({
  kind: 'read',
  local: result,
  array,
  index,
});
export const give = (...values: Operand[]): Statement => ({ kind: 'return', values });

/** Makes a module of one function. `arrays` and `uniforms` give the types of captured values, by name. */
export function moduleOf(
  parameters: readonly Local[],
  results: readonly ScalarType[],
  body: readonly Statement[],
  arrays: Record<string, ScalarType> = {},
  uniforms: Record<string, ScalarType> = {},
): Module {
  return {
    functions: [{ name: 'entry', parameters, results, body, fast: false }],
    arrays: new Map(Object.entries(arrays)),
    uniforms: new Map(Object.entries(uniforms)),
  };
}

/** A program that reads, at its index, one element of every column. */
export function columnsProgram(columns: readonly { type: ScalarType; binding: ArrayBinding }[]): Program {
  const index = local('u32', 0);
  const values = columns.map(({ type }, i) => local(type, i + 1));
  const names = columns.map((_, i) => `a${i}`);
  const module = moduleOf(
    [index],
    columns.map(({ type }) => type),
    [...values.map((value, i) => readAt(value, names[i]!, index)), give(...values)],
    Object.fromEntries(columns.map(({ type }, i) => [names[i]!, type])),
  );
  const arrays = new Map(columns.map(({ binding }, i) => [names[i]!, binding]));
  return { module, arrays, uniforms: new Map() };
}

/** A monoid over one scalar, with a single operation. */
export function simpleMonoid(
  type: ScalarType,
  operation: OperationName,
  identity: number | boolean,
  exact: boolean = type !== 'f32',
): MonoidProgram {
  const [a, b, c] = [local(type, 0), local(type, 1), local(type, 2)];
  const module = moduleOf([a, b], [type], [bind(c, operation, a, b), give(c)]);
  return { module, types: [type], identity: [identity], exact, commutative: false };
}

/** Products of 2×2 matrices of u32, which are associative and exact but do not commute. */
export function matrixMonoid(): MonoidProgram {
  const types = ['u32', 'u32', 'u32', 'u32'] as const;
  const left = types.map((type, i) => local(type, i));
  const right = types.map((type, i) => local(type, i + 4));
  let next = 8;
  const body: Statement[] = [];
  const term = (name: OperationName, a: Operand, b: Operand): Local => {
    const result = local('u32', next++);
    body.push(bind(result, name, a, b));
    return result;
  };
  const entry = (row: number, column: number): Local =>
    term('add', term('mul', left[2 * row]!, right[column]!), term('mul', left[2 * row + 1]!, right[2 + column]!));
  const results = [entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)];
  const module = moduleOf([...left, ...right], types, [...body, give(...results)]);
  return { module, types, identity: [1, 0, 0, 1], exact: true, commutative: false };
}

/** A new buffer that contains the given words. */
export function upload(backend: Backend, words: Uint32Array): DeviceBuffer {
  const buffer = backend.allocate(Math.max(1, words.length));
  backend.write(buffer, 0, words);
  return buffer;
}

/** How a column of this type is stored if it is not packed. */
export const storageOf = (type: ScalarType): Storage => (type === 'bool' ? 'u32' : type);

/** The binding of a column in a buffer. */
export function bindingOf(buffer: DeviceBuffer, length: number, storage: Storage = 'u32', offset = 0): ArrayBinding {
  return { buffer, storage, offset, length };
}

export const wordOf = (type: ScalarType, value: number | boolean): number =>
  type === 'f32' ? bitsOfF32(value as number) : Number(value) >>> 0;

export const valueOfWord = (type: ScalarType, word: number): number | boolean =>
  type === 'f32' ? f32OfBits(word) : type === 'i32' ? word | 0 : type === 'bool' ? word !== 0 : word >>> 0;

/** Pseudorandom words; equal seeds give equal words. */
export function randomWords(count: number, seed = 1): Uint32Array {
  let state = (seed * 0x9e3779b9) >>> 0;
  return Uint32Array.from({ length: count }, () => {
    state = (state + 0x9e3779b9) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
    return (x ^ (x >>> 16)) >>> 0;
  });
}

/** Pseudorandom f32 of both signs and many magnitudes, as words; equal seeds give equal words. */
export function randomFloats(count: number, seed = 1): Uint32Array {
  return randomWords(count, seed).map((word) => (word & 0x807fffff) | ((110 + ((word >>> 23) % 32)) << 23));
}
