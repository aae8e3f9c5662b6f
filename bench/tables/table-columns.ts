import type { DeviceTable, TableColumn } from '../../algorithms/tables/index.ts';
import { keyOfF32 } from '../../algorithms/tables/sortable.ts';
import {
  bitsToI32,
  type Column,
  type Context,
  f32,
  fn,
  i32,
  map,
  mulhi,
  sequence,
  type U32,
  u32,
  uniform,
} from '../../primitives/index.ts';

/**
 * A table of pseudo-random numbers, made on the device. The columns a to d and m have integers below a million, k has
 * integers below a thousand, and f has f32 below a thousand.
 */
export function tableOnDevice(context: Context, rows: number): DeviceTable {
  const index = sequence(rows);
  const integers = (seed: number, end: number): Stored => ({
    kind: 'i32',
    words: context.materialize(map(integerAt, { index, seed, end })),
    bounds: { min: 0n, max: BigInt(end - 1) },
  });
  const f: Stored = {
    kind: 'f32',
    words: context.materialize(map(fractionAt, { index, seed: 6 })),
    bounds: { min: 0n, max: BigInt(keyOfF32(1000)) },
    smallestMagnitude: keyOfF32(1000 / 2 ** 24),
  };
  const some = ['a', 'b', 'c', 'd'].map((name, seed): [string, Stored] => [name, integers(seed, 1_000_000)]);
  const all = { ...Object.fromEntries(some), f, k: integers(4, 1000), m: integers(5, 1_000_000) };
  const columns = Object.entries(all).map(([name, stored]): [string, TableColumn] => [name, columnOf(name, stored)]);
  return { context, rows, columns: Object.fromEntries(columns) };
}

interface Stored extends Pick<TableColumn, 'kind' | 'bounds' | 'smallestMagnitude'> {
  readonly words: Column<'i32'>;
}

function columnOf(name: string, { words, ...known }: Stored): TableColumn {
  return { name, ...known, key: 'i32', words: [words], validity: undefined, dictionary: [], scale: 0 };
}

/** Pseudo-random bits by Wellons' hash lowbias32. */
function randomBits(index: U32, seed: U32): U32 {
  const mixed = index.add(seed.mul(0x9e3779b9));
  const once = mixed.xor(mixed.shr(16)).mul(0x7feb352d);
  const twice = once.xor(once.shr(15)).mul(0x846ca68b);
  return twice.xor(twice.shr(16));
}

const integerAt = fn('integerAt', { index: u32, seed: uniform(u32), end: uniform(u32) }, i32, ({ index, seed, end }) =>
  bitsToI32(mulhi(randomBits(index, seed), end)),
);

/** A pseudo-random f32 from 0 to 1,000, as the i32 sort key that a table stores: the bits of the f32. */
const fractionAt = fn('fractionAt', { index: u32, seed: uniform(u32) }, i32, ({ index, seed }) =>
  bitsToI32(f32(randomBits(index, seed).shr(8)).mul(1000 / 2 ** 24)),
);
