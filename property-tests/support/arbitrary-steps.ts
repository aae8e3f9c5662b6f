import fc from 'fast-check';
import { expect } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import type { Column } from '../../primitives/columns/column.ts';
import { Context } from '../../primitives/context/context.ts';
import * as q from '../../primitives/index.ts';

/**
 * A step of a random pipeline on u32 columns. A step selects a column by a number (`of` or `and`), modulo the number of
 * columns that have not been disposed of. Older columns have lower numbers.
 */
export type Step =
  | { readonly kind: 'upload'; readonly rows: number; readonly seed: number }
  | { readonly kind: 'bring'; readonly rows: number; readonly seed: number; readonly how: Bringing }
  | { readonly kind: 'derive'; readonly how: Derivation; readonly of: number }
  | { readonly kind: 'add'; readonly of: number; readonly and: number }
  | { readonly kind: 'read' | 'into' | 'lend' | 'count' | 'dispose'; readonly of: number }
  | { readonly kind: 'sync' | 'await' | 'turn' };

type Bringing = 'array' | 'reader' | 'late' | 'filler';
type Derivation = 'map' | 'stored' | 'sort' | 'scan' | 'choose' | 'reduce' | 'sums' | 'histogram';

const { bool, fn, u32, f32 } = q;
const mixed = fn({ x: u32 }, u32, ({ x }) => x.mul(2654435761).xor(x.shr(15)));
const isKept = fn({ x: u32 }, bool, ({ x }) => x.and(3).ne(1));
const low = fn({ x: u32 }, u32, ({ x }) => x.rem(50));
const float = fn({ x: u32 }, f32, ({ x }) => f32(x.and(1023)));
const whole = fn({ x: f32 }, u32, ({ x }) => u32(x));
const sum = fn({ x: u32, other: q.array(u32) }, u32, ({ x, other }) => x.add(other.at(x.rem(64))));

/**
 * For each derivation, a function that derives a column from another column. Together, these functions use every
 * kernel, and columns whose lengths only the device knows.
 */
const derivations: Readonly<Record<Derivation, (x: Column<'u32'>) => Column<'u32'>>> = {
  map: (x) => q.map(mixed, { x }),
  stored: (x) => x.context!.materialize(q.map(mixed, { x })),
  sort: (x) => q.sort(x),
  scan: (x) => q.inclusiveScan(x, q.plus(u32)),
  choose: (x) => q.copyIf(x, isKept),
  reduce: (x) => q.reduce(x, q.plus(u32)),
  sums: (x) => q.map(whole, { x: q.inclusiveScan(q.map(float, { x }), q.plus(f32)) }),
  histogram: (x) => q.histogram(q.map(low, { x }), 50),
};

const column = fc.nat(7);
const rows = fc.oneof(fc.nat(40), fc.nat(5000));

const arbitraryStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('upload' as const), rows, seed: fc.nat(1000) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('bring' as const),
      how: fc.constantFrom<Bringing[]>('array', 'reader', 'late', 'filler'),
      rows,
      seed: fc.nat(1000),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('derive' as const),
      how: fc.constantFrom(...(Object.keys(derivations) as Derivation[])),
      of: column,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('add' as const), of: column, and: column }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('read' as const, 'dispose' as const), of: column }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('count' as const, 'into' as const, 'lend' as const), of: column }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('sync' as const, 'await' as const, 'turn' as const) }) },
);

export const arbitrarySteps: fc.Arbitrary<Step[]> = fc.array(arbitraryStep, { minLength: 1, maxLength: 25 });

/** A fixed example that a property always tries: steps with many backend calls and much memory. */
export const manySteps: Step[] = [
  { kind: 'upload', rows: 5000, seed: 1 },
  { kind: 'derive', how: 'sort', of: 1 },
  { kind: 'derive', how: 'scan', of: 2 },
  { kind: 'read', of: 3 },
];

/** The outcomes of all promises that a run waited for, in the order of the steps. */
export type Outcomes = readonly PromiseSettledResult<unknown>[];

/**
 * Runs steps, reads the remaining columns, and frees everything. If a step throws, the run ends, and the error is the
 * last outcome, after the outcomes of earlier promises.
 */
export async function runSteps(context: Context, steps: readonly Step[]): Promise<Outcomes> {
  const waits: Promise<PromiseSettledResult<unknown>>[] = [];
  const wait = (promise: Promise<unknown>): void => {
    waits.push(Promise.allSettled([promise]).then(([outcome]) => outcome!));
  };
  const columns: Column<'u32'>[] = [];
  try {
    columns.push(context.column(words(100, 1)));
    for (const step of steps) await take(context, columns, step, wait, waits);
    for (const each of columns) wait(context.read(each));
  } catch (reason) {
    wait(Promise.reject(reason));
  }
  const outcomes = await Promise.all(waits);
  context.dispose(columns);
  return outcomes;
}

/** The outcomes of steps on the reference backend, where no step may fail. */
export async function undisturbed(steps: readonly Step[]): Promise<Outcomes> {
  const outcomes = await runSteps(new Context(createReferenceBackend()), steps);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return outcomes;
}

/**
 * The reasons of all failures, in the order of the outcomes. Checks that every successful outcome equals the expected
 * outcome at the same index.
 */
export function reasonsIn(outcomes: Outcomes, expected: Outcomes): unknown[] {
  const reasons: unknown[] = [];
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome.status === 'rejected') reasons.push(outcome.reason);
    else expect(outcome).toEqual(expected[i]);
  }
  return reasons;
}

async function take(
  context: Context,
  columns: Column<'u32'>[],
  step: Step,
  wait: (promise: Promise<unknown>) => void,
  waits: readonly Promise<unknown>[],
): Promise<void> {
  const at = (number: number): Column<'u32'> => columns[number % columns.length]!;
  switch (step.kind) {
    case 'upload':
      columns.push(context.column(words(step.rows, step.seed)));
      break;
    case 'bring':
      columns.push(await context.upload(sourceOf(step.how, words(step.rows, step.seed)) as Uint32Array));
      break;
    case 'derive':
      columns.push(context.scope(() => context.materialize(derivations[step.how](at(step.of)))));
      break;
    case 'add':
      columns.push(context.scope(() => context.materialize(q.map(sum, { x: at(step.of), other: at(step.and) }))));
      break;
    case 'read':
      wait(context.read(at(step.of)));
      break;
    case 'into':
      wait(context.read(at(step.of), { into: new Uint32Array(at(step.of).capacity) }));
      break;
    case 'lend':
      wait(context.lendArray(at(step.of)).then(lookAt));
      break;
    case 'count':
      wait(context.count(at(step.of)));
      break;
    case 'dispose':
      // The last column is kept, because later steps need one.
      if (columns.length > 1) context.dispose(columns.splice(step.of % columns.length, 1));
      break;
    case 'sync':
      wait(context.sync());
      break;
    case 'await':
      await Promise.all(waits);
      break;
    case 'turn':
      await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Copies a lent array, and returns it to the library. */
function lookAt(lent: q.LentArray<'u32'>): Uint32Array {
  using looked = lent;
  return Uint32Array.from(looked.array);
}

/** Makes a source of the given kind, which supplies the words of `data`. */
function sourceOf(how: Bringing, data: Uint32Array): Uint32Array | q.ElementReader<'u32'> | q.ElementFiller<'u32'> {
  const { length } = data;
  const bytes = new Uint8Array(data.buffer);
  const read = (into: Uint8Array, at: number): void => into.set(bytes.subarray(at, at + into.length));
  const late = async (into: Uint8Array, at: number): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    read(into, at);
  };
  const fill = (into: Uint32Array, first: number): void => into.set(data.subarray(first, first + into.length));
  if (how === 'array') return data;
  return how === 'filler' ? { type: 'u32', length, fill } : { type: 'u32', length, read: how === 'late' ? late : read };
}

/** Pseudorandom words; equal seeds give equal words. */
function words(length: number, seed: number): Uint32Array {
  return Uint32Array.from({ length }, (_, i) => Math.imul(i + seed, 2246822519) ^ (i >>> 2));
}
