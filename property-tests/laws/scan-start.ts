import fc from 'fast-check';
import type { ScanOptions } from '../../primitives/scan.ts';
import { hostColumn, type Recipe, recipe } from '../arbitraries/columns.ts';
import type { Leaves, MonoidSample } from '../arbitraries/monoids.ts';
import { canonicalPrefixes } from './canonical-tree.ts';

/** Where a scan starts: with a value of its own or with the identity, from the left or from the right. */
export interface Start {
  readonly initial: Recipe | undefined;
  readonly reverse: boolean;
}

export const start: fc.Arbitrary<Start> = fc.record({
  initial: fc.option(recipe, { nil: undefined }),
  reverse: fc.boolean(),
});

/** The expected scans of a column or line, one value per row. */
export interface Prefixes {
  readonly exclusive: readonly Leaves[];
  readonly inclusive: readonly Leaves[];
}

/** The scans from the left, without an initial value. */
export type PrefixesOf = (rows: readonly Leaves[], sample: MonoidSample) => Prefixes;

export const sequentialPrefixes: PrefixesOf = (rows, { identity, combine }) => {
  const exclusive: Leaves[] = [];
  const inclusive: Leaves[] = [];
  let sum = identity;
  for (const row of rows) {
    exclusive.push(sum);
    sum = combine(sum, row);
    inclusive.push(sum);
  }
  return { exclusive, inclusive };
};

export const treePrefixes: PrefixesOf = (rows, { identity, combine }) => {
  const prefixes = canonicalPrefixes(rows, combine);
  return {
    exclusive: prefixes.map(({ exclusive }) => exclusive ?? identity),
    inclusive: prefixes.map(({ inclusive }) => inclusive),
  };
};

function initialOf({ fields }: MonoidSample, given: Recipe): Leaves {
  return Object.values(fields).map((kind, i) => Number(hostColumn(kind, 2, { ...given, seed: given.seed + i })[1]));
}

/** The options of a scan with a start. */
export function optionsOf(sample: MonoidSample, { initial, reverse }: Start): ScanOptions {
  if (initial === undefined) return { reverse };
  const leaves = initialOf(sample, initial);
  const plain = Object.entries(sample.fields).map(([name, kind], i): [string, unknown] => [
    name,
    kind === 'bool' ? leaves[i] === 1 : leaves[i],
  ]);
  const { value, ...fields } = Object.fromEntries(plain);
  return { initial: (value ?? fields) as never, reverse };
}

/**
 * The scans with a start of rows of which the first, in the order of the scan, and those for which `isFirst` holds begin
 * anew.
 */
export function startedPrefixes(
  rows: readonly Leaves[],
  sample: MonoidSample,
  { initial, reverse }: Start,
  prefixesOf: PrefixesOf,
  isFirst: (row: number) => boolean = (row) => row === 0,
): Prefixes {
  const { combine } = sample;
  const own: MonoidSample = reverse ? { ...sample, combine: (a, b) => combine(b, a) } : sample;
  const { exclusive, inclusive } = prefixesOf(reverse ? [...rows].reverse() : rows, own);
  const inOrder = (all: readonly Leaves[]): readonly Leaves[] => (reverse ? [...all].reverse() : all);
  if (initial === undefined) return { exclusive: inOrder(exclusive), inclusive: inOrder(inclusive) };
  const first = initialOf(sample, initial);
  return {
    exclusive: inOrder(exclusive.map((row, i) => (isFirst(i) ? first : own.combine(first, row)))),
    inclusive: inOrder(inclusive.map((row) => own.combine(first, row))),
  };
}
