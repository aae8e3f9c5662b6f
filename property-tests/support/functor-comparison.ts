import { expect } from 'vitest';
import type { Module, ScalarType } from '../../primitives/ir/ir.ts';
import { bitsOfF32 } from '../../primitives/ir/semantics.ts';
import type { Inputs } from '../arbitraries/functors.ts';
import { caseCount } from '../cases.ts';
import { type Evaluated, interpret, type Reliance } from './ir-interpreter.ts';

/** Interprets a module's entry for every row of the inputs. */
export function runInterpreter(module: Module, { rows, ...bindings }: Inputs): Evaluated[][] {
  return rows.map((row) => interpret(module, row, bindings));
}

/** The values of all rows, without the reliance (how far the bytes of a value are specified). */
export function plain(rows: readonly (readonly Evaluated[])[]): (number | boolean)[][] {
  return rows.map((row) => row.map(({ value }) => value));
}

/**
 * Expects equal bytes for all values whose reliance (how far the bytes of a value are specified) is high enough. All
 * NaNs count as equal.
 */
export function expectSame(
  types: readonly ScalarType[],
  got: readonly (readonly (number | boolean)[])[],
  expected: readonly (readonly Evaluated[])[],
  reliance: Reliance,
): void {
  const relied = (row: readonly (number | boolean)[], i: number): unknown[] =>
    row.map((value, leaf) => (expected[i]![leaf]!.reliance < reliance ? 'any' : bitsOf(types[leaf]!, value)));
  expect(got.map(relied)).toEqual(plain(expected).map(relied));
}

function bitsOf(type: ScalarType, value: number | boolean): number | boolean | 'NaN' {
  if (type !== 'f32') return value;
  return Number.isNaN(value) ? 'NaN' : bitsOfF32(value as number);
}

const factor = Number(process.env.QUADRILLE_FUZZ ?? 1);

/** Timeout of a fuzz test in milliseconds. */
export const fuzzTimeout: number = 120_000 * factor;

/**
 * Options of a fuzz test: the number of runs (ten times as many with QUADRILLE_FUZZ=10), and the time limit for
 * shrinking.
 */
export function fuzz(runs: number): { readonly numRuns: number; readonly interruptAfterTimeLimit: number } {
  return { numRuns: caseCount(runs) * factor, interruptAfterTimeLimit: fuzzTimeout / 2 };
}
