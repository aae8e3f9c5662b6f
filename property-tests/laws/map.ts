import fc from 'fast-check';
import { adjacentDifference } from '../../primitives/adjacent-difference.ts';
import { array, bool, f32, fn, i32, u32, uniform } from '../../primitives/functors/functor.ts';
import { map } from '../../primitives/map.ts';
import { plus } from '../../primitives/monoid.ts';
import { inclusiveScan } from '../../primitives/scan.ts';
import { rowsOf } from '../arbitraries/columns.ts';
import { word } from '../arbitraries/integers.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';

const mixed = fn(
  { a: u32, b: i32, x: f32, flag: bool, small: i32, byte: u32 },
  { sum: u32, below: bool, scaled: f32, packed: i32 },
  ({ a, b, x, flag, small, byte }) => ({
    sum: a.add(u32(b)).add(u32(flag)),
    below: b.lt(small).xor(flag),
    scaled: x.mul(0.75).add(f32(byte)),
    packed: small.mul(256).add(i32(byte)),
  }),
);

const twice = fn({ x: u32 }, u32, ({ x }) => x.mul(2));
const plusOne = fn({ x: u32 }, u32, ({ x }) => x.add(1));
const twicePlusOne = fn({ x: u32 }, u32, ({ x }) => plusOne({ x: twice({ x }) }));

const lookUp = fn(
  { at: u32, table: array(u32), ring: array(i32), offset: uniform(u32), negate: uniform(bool) },
  { there: u32, length: u32, turned: i32, negate: bool },
  ({ at, table, ring, offset, negate }) => ({
    there: table.at(at.add(offset)),
    length: table.length(),
    turned: ring.at(at.rem(ring.length())),
    negate: negate.not(),
  }),
);

export const mapLaws: readonly Law[] = [
  law(
    'map applies the functor to every row, of packed columns too',
    [rowsOf({ a: 'u32', b: 'i32', x: 'calm', flag: 'bool', small: 'i16', byte: 'u8' }), presentation],
    async (run, host, how) => {
      const { a, b, x, flag, small, byte } = host;
      const result = await run((context) => map(mixed, present(context, host, how)));
      const rows = Array.from(a, (_, i) => i);
      assertSame(result, {
        sum: Uint32Array.from(rows, (i) => a[i]! + b[i]! + Number(flag[i])),
        below: Uint8Array.from(rows, (i) => Number(b[i]! < small[i]! !== flag[i])),
        scaled: Float32Array.from(rows, (i) => Math.fround(x[i]! * 0.75) + byte[i]!),
        packed: Int32Array.from(rows, (i) => small[i]! * 256 + byte[i]!),
      });
    },
  ),
  law('maps compose', [rowsOf({ x: 'u32' }), presentation], async (run, host, how) => {
    const result = await run((context) => {
      const { x } = present(context, host, how);
      return { chained: map(plusOne, { x: map(twice, { x }) }), composed: map(twicePlusOne, { x }) };
    });
    assertSame(
      result.chained,
      Uint32Array.from(host.x, (x) => 2 * x + 1),
    );
    assertSame(result.composed, result.chained);
  }),
  law(
    'captured columns are read whole, as views and with device counts too, and are zero out of range',
    [rowsOf({ at: 'tiny' }), rowsOf({ table: 'u16' }), presentation, word, fc.boolean()],
    async (run, { at }, { table }, how, offset, negate) => {
      const ring = Int32Array.of(-3, 5, 7);
      const result = await run((context) => {
        const captured = { table: present(context, { table }, how).table, ring: context.column(ring) };
        return map(lookUp, { at: context.column(at), ...captured, offset, negate });
      });
      assertSame(result, {
        there: Uint32Array.from(at, (i) => table[(i + offset) % 2 ** 32] ?? 0),
        length: Uint32Array.from(at, () => table.length),
        turned: Int32Array.from(at, (i) => ring[i % 3]!),
        negate: Uint8Array.from(at, () => Number(!negate)),
      });
    },
  ),
  law(
    'adjacentDifference and inclusiveScan are inverses',
    [rowsOf({ u32: 'u32', i32: 'i8', f32: 'calm' }), presentation],
    async (run, host, how) => {
      const result = await run((context) => {
        const table = present(context, host, how);
        return {
          there: adjacentDifference(inclusiveScan(table.u32, plus(u32))),
          back: inclusiveScan(adjacentDifference(table.i32), plus(i32)),
          float: adjacentDifference(table.f32),
          record: adjacentDifference({ whole: table.u32, part: { f32: table.f32 } }),
        };
      });
      const difference = (x: number, i: number): number => (i === 0 ? x : Math.fround(x - host.f32[i - 1]!));
      const float = host.f32.map(difference);
      const whole = host.u32.map((x, i) => (i === 0 ? x : x - host.u32[i - 1]!));
      const record = { whole, part: { f32: float } };
      assertSame(result, { there: host.u32, back: Int32Array.from(host.i32), float, record });
    },
  ),
];
