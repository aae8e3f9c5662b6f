import type { Column, Table } from '../../primitives/columns/column.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { Bool, U32 } from '../../primitives/functors/value.ts';
import { sequence } from '../../primitives/sequence.ts';
import { sort, sortByKey } from '../../primitives/sort.ts';
import { filled, piecewise, type Stretches } from '../stretches.ts';
import type { DeviceTable, TableColumn } from './device-table.ts';
import type { HostColumn } from './host-table.ts';
import { type IntegerValue, integersOf, wideOf } from './integers.ts';
import { bitsPart, combineParts, constantPart, mapPart, type QuestionPart, viewsOf } from './part.ts';
import { hostColumn } from './rows.ts';

/**
 * Rows of a table, sorted so that each group is contiguous. Rows that are not chosen are left out or, if `rest` is
 * defined, come last.
 */
export interface GroupedRows {
  /** Keys of the sorted rows. Adjacent rows have equal keys if and only if they are in the same group. */
  readonly keys: Table;
  /**
   * Indices of the sorted rows or, if a payload (a value of every row) was sorted along with the keys, the sorted
   * payload.
   */
  readonly rows: Column<'u32'>;
  /** The key of rows that are not chosen, above the keys of all groups. Undefined if these rows are left out. */
  readonly rest: number | undefined;
  /**
   * Makes the key columns of the result. The parameter `keys` has the key of each group, in the form of the field
   * `keys`.
   */
  decode(
    keys: { readonly [name: string]: Uint32Array } | Uint32Array,
    groups: number,
  ): Stretches<readonly HostColumn[]>;
}

/**
 * A key column as one digit of the code of a group. The digit is from 0 to `range − 1`. If the column has nulls, the
 * last digit stands for null.
 */
interface Digit {
  readonly column: TableColumn;
  readonly range: bigint;
}

function digitOf(column: TableColumn): Digit {
  const { min, max } = column.bounds;
  return { column, range: max - min + 1n + (column.validity === undefined ? 0n : 1n) };
}

export const word = (value: bigint): QuestionPart<U32> => constantPart('u32', Number(value & 0xffffffffn));

/**
 * Integer codes that identify groups, from 0 to `groups − 1`. Rows that are not chosen have the code `groups`, which
 * must also fit in 32 bits.
 */
export interface GroupCodes {
  readonly code: QuestionPart<U32>;
  readonly bits: number;
  readonly digits: readonly Digit[];
  readonly groups: bigint;
}

export function groupCodes(columns: readonly TableColumn[], counts: QuestionPart<Bool>): GroupCodes | undefined {
  const digits = columns.map(digitOf);
  const groups = digits.reduce((all, { range }) => all * range, 1n);
  if (groups >= 2n ** 32n) return undefined;
  let stride = groups;
  const terms = digits.map((digit) => {
    stride /= digit.range;
    return digitPart(digit, stride);
  });
  const code = combineParts<U32 | Bool, U32>('code', [counts, word(groups), ...terms], ([holds, rest, ...some]) => {
    const sum = (some as U32[]).reduce((a, b) => a.add(b));
    return select(rest as U32, sum, holds as Bool);
  });
  return { code, bits: groups.toString(2).length, digits, groups };
}

function digitPart({ column, range }: Digit, stride: bigint): QuestionPart<U32> {
  const { part } = integersOf(column);
  const constants = [column.bounds.min, range - 1n, stride].map(word);
  const valid = bitsPart([column.validity]);
  return combineParts<IntegerValue | U32 | Bool, U32>('digit', [part, valid, ...constants], (made) => {
    const [value, isValid, min, none, by] = made as [IntegerValue, Bool, U32, U32, U32];
    return select(none, wideOf(value).lo.sub(min), isValid).mul(by);
  });
}

/** A value of every row that may be sorted along with the row's code. */
export interface Payload {
  readonly value: QuestionPart<U32>;
  readonly bits: number;
}

/** Sorts rows by code. The payload is packed into the word of the code if both fit. */
export function sortByCodes(table: DeviceTable, codes: GroupCodes, payload: Payload | undefined): GroupedRows {
  const { context, rows } = table;
  const { code, bits } = codes;
  const decode = (keys: unknown, groups: number): Stretches<readonly HostColumn[]> =>
    decodeCodes(codes, (keys as Uint32Array).subarray(0, groups));
  const range = { from: 0, to: bits };
  const rest = Number(codes.groups);
  if (payload !== undefined && payload.bits + bits <= 32) {
    const packed = combineParts('packed', [code, payload.value, word(BigInt(bits))], ([low, high, by]) => [
      low!.or(high!.shl(by!)),
    ]);
    const [view] = viewsOf(context, rows, ['u32'], packed) as [Column<'u32'>];
    const sorted = sort(view, { bits: range, context });
    const [keys, values] = unpacked(table, sorted, bits);
    return { keys, rows: values, rest, decode };
  }
  const both = combineParts('both', payload === undefined ? [code] : [code, payload.value], (made) => made);
  const types = payload === undefined ? (['u32'] as const) : (['u32', 'u32'] as const);
  const [keys, values] = viewsOf(context, rows, types, both) as [Column<'u32'>, Column<'u32'> | undefined];
  const sorted = sortByKey(keys, values ?? sequence(rows), { bits: range, context });
  return { keys: sorted.keys, rows: sorted.values, rest, decode };
}

function unpacked({ context }: DeviceTable, sorted: Column<'u32'>, bits: number): [Column<'u32'>, Column<'u32'>] {
  const column: QuestionPart<U32> = {
    structure: 'c',
    columns: [sorted],
    bits: [],
    constants: [],
    emit: ({ values }) => values[0] as U32,
  };
  const both = combineParts('unpacked', [column, word(BigInt(bits))], ([packed, by]) => [
    packed!.and(u32(1).shl(by!).sub(1)),
    packed!.shr(by!),
  ]);
  return viewsOf(context, sorted.length, ['u32', 'u32'], both) as [Column<'u32'>, Column<'u32'>];
}

/** Decodes the key columns of groups from their codes. */
export function* decodeCodes({ digits }: GroupCodes, codes: Uint32Array): Stretches<readonly HostColumn[]> {
  const columns: HostColumn[] = [];
  for (const [k, digit] of digits.entries()) columns.push(yield* decodeDigit(digit, strideAt(digits, k), codes));
  return columns;
}

function strideAt(digits: readonly Digit[], k: number): bigint {
  return digits.slice(k + 1).reduce((all, { range }) => all * range, 1n);
}

function* decodeDigit({ column, range }: Digit, stride: bigint, codes: Uint32Array): Stretches<HostColumn> {
  const groups = codes.length;
  const [by, every] = [Number(stride), Number(range)];
  const none = column.validity === undefined ? -1 : every - 1;
  const valid = column.validity === undefined ? undefined : new Uint8Array(groups);
  const low = new Uint32Array(groups);
  const high = new Int32Array(groups);
  const min = column.bounds.min;
  // Digits are below 2^32, so the sum of a digit and the low word of the minimum carries at most once.
  const [baseLow, baseHigh] = [Number(min & 0xffffffffn), Number(BigInt.asIntN(32, min >> 32n))];
  yield* piecewise(0, groups, (from, to) => {
    for (let i = from; i < to; i++) {
      const digit = Math.floor(codes[i]! / by) % every;
      if (valid !== undefined) valid[i] = Number(digit !== none);
      const sum = (digit === none ? 0 : digit) + baseLow;
      low[i] = sum;
      high[i] = baseHigh + Math.floor(sum / 2 ** 32);
    }
  });
  return yield* hostColumn(column, wordsFor(column, low, high), valid);
}

/**
 * Returns the arrays in which a column with the given `key` type stores integers: one array of 32-bit integers, or the
 * low and the high words.
 */
export function wordsFor(
  { key }: Pick<TableColumn, 'key'>,
  low: Uint32Array,
  high: Int32Array,
): (Uint32Array | Int32Array)[] {
  if (key === 'i32') return [new Int32Array(low.buffer, low.byteOffset, low.length)];
  return key === 'u32' ? [low] : [low, high];
}

/**
 * Sorts the chosen rows by all key columns, with stable sorts from the last key to the first. If a key has nulls, a
 * second sort by one bit moves the nulls to the end.
 */
export function sortByKeys(table: DeviceTable, columns: readonly TableColumn[], ids: Column<'u32'>): GroupedRows {
  const { context } = table;
  let order = ids;
  const pairsAt = (
    column: TableColumn,
    at: Column<'u32'>,
  ): { readonly lo: Column<'u32'>; readonly hi: Column<'u32'> } => {
    const pair = combineParts<IntegerValue | Bool, readonly U32[]>(
      'key',
      [integersOf(column).part, bitsPart([column.validity])],
      (made) => {
        const [value, isValid] = made as [IntegerValue, Bool];
        const { lo, hi } = wideOf(value);
        const ordered = column.key === 'u64' || column.key === 'u32' ? hi : hi.xor(0x80000000);
        return [lo, ordered].map((each) => select(u32(0), each, isValid));
      },
    );
    const [lo, hi] = viewsOf(context, at.length, ['u32', 'u32'], pair, at) as [Column<'u32'>, Column<'u32'>];
    return { lo, hi };
  };
  const nullsAt = (column: TableColumn, at: Column<'u32'>): Column<'u32'> => {
    const isNull = mapPart('null', bitsPart([column.validity]), (valid) => [u32(valid.not())]);
    return viewsOf(context, at.length, ['u32'], isNull, at)[0] as Column<'u32'>;
  };
  for (const column of columns.toReversed()) {
    const { lo, hi } = pairsAt(column, order);
    order = sortByKey({ lo, hi }, order, { context }).values;
    if (column.validity !== undefined)
      order = sortByKey(nullsAt(column, order), order, { bits: { from: 0, to: 1 }, context }).values;
  }
  const keys = Object.fromEntries(
    columns.flatMap((column, k) => {
      const { lo, hi } = pairsAt(column, order);
      const words: [string, Column][] = [
        [`lo${k}`, lo],
        [`hi${k}`, hi],
      ];
      return column.validity === undefined
        ? words
        : [...words, [`null${k}`, nullsAt(column, order)] as [string, Column]];
    }),
  );
  return {
    keys,
    rows: order,
    rest: undefined,
    *decode(read) {
      const decoded: HostColumn[] = [];
      for (const [k, column] of columns.entries()) {
        const words = read as { readonly [name: string]: Uint32Array };
        const flip = column.key === 'u64' || column.key === 'u32' ? 0 : 0x80000000;
        const [hi, nulls] = [words[`hi${k}`]!, words[`null${k}`]];
        const high = yield* filled(new Int32Array(hi.length), (i) => hi[i]! ^ flip);
        const valid = nulls && (yield* filled(new Uint8Array(nulls.length), (i) => 1 - nulls[i]!));
        decoded.push(yield* hostColumn(column, wordsFor(column, words[`lo${k}`]!, high), valid));
      }
      return decoded;
    },
  };
}
