import type { Column } from '../../primitives/columns/column.ts';
import { maxElement, minElement } from '../../primitives/extremum.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSameBytes, type HostTable } from './compare.ts';
import { type Law, law } from './law.ts';

/** The first of the rows with the best value. −0 is less than 0, and every number is better than NaN. */
function bestRow(values: ArrayLike<number>, isBetter: (candidate: number, best: number) => boolean): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) {
    if (Number.isNaN(values[i])) continue;
    if (Number.isNaN(values[best]) || isBetter(values[i]!, values[best]!)) best = i;
  }
  return values.length === 0 ? 2 ** 32 - 1 : best;
}

const isBelow = (a: number, b: number): boolean => a < b || (a === b && Object.is(a, -0) && Object.is(b, 0));

/**
 * The expected result: the value in `row`, and `row` itself. For an empty column, the value is the identity of the
 * monoid.
 */
function extremum<A extends Uint32Array | Int32Array | Float32Array>(
  values: A,
  row: number,
  { u32, i32, f32 }: { readonly u32: number; readonly i32: number; readonly f32: number },
): HostTable {
  const nothing = values instanceof Uint32Array ? u32 : values instanceof Int32Array ? i32 : f32;
  const value = (values.constructor as unknown as { of(value: number): A }).of(values[row] ?? nothing);
  return { value, index: Uint32Array.of(row) };
}

const maxOfAll = { u32: 2 ** 32 - 1, i32: 2 ** 31 - 1, f32: Number.NaN };
const minOfAll = { u32: 0, i32: -(2 ** 31), f32: Number.NaN };

export const extremumLaws: readonly Law[] = [
  law(
    'minElement and maxElement find the first minimum and maximum',
    [rowsOf({ u32: 'u32', i32: 'i32', f32: 'normal' }), presentation],
    async (run, host, how) => {
      const result = await run((context) => {
        const { u32, i32, f32 } = present(context, host, how);
        const both = <T extends 'u32' | 'i32' | 'f32'>(column: Column<T>) => ({
          min: minElement(column),
          max: maxElement(column),
        });
        return { u32: both(u32), i32: both(i32), f32: both(f32) };
      });
      const both = (values: Uint32Array | Int32Array | Float32Array): HostTable => ({
        min: extremum(values, bestRow(values, isBelow), maxOfAll),
        max: extremum(
          values,
          bestRow(values, (candidate, best) => isBelow(best, candidate)),
          minOfAll,
        ),
      });
      assertSameBytes(result, { u32: both(host.u32), i32: both(host.i32), f32: both(host.f32) }, 'extrema');
    },
  ),
  law(
    'minElement and maxElement compare 64-bit numbers as a whole',
    [rowsOf({ lo: 'u32', hi: 'tiny' }), presentation],
    async (run, host, how) => {
      const result = await run((context) => {
        const { lo, hi } = present(context, host, how);
        return { min: minElement({ lo, hi }), max: maxElement({ hi, lo }) };
      });
      const wide = Array.from(host.lo, (word, i) => host.hi[i]! * 2 ** 32 + word);
      const at = (row: number, nothing: number): HostTable => ({
        value: { lo: Uint32Array.of(host.lo[row] ?? nothing), hi: Uint32Array.of(host.hi[row] ?? nothing) },
        index: Uint32Array.of(row),
      });
      const min = bestRow(wide, isBelow);
      const max = bestRow(wide, (candidate, best) => isBelow(best, candidate));
      assertSameBytes(result as HostTable, { min: at(min, 2 ** 32 - 1), max: at(max, 0) }, 'extrema');
    },
  ),
];
