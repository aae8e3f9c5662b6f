import type { Column } from '../../primitives/columns/column.ts';
import type { Context } from '../../primitives/context.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { shrU64, sub64 } from '../../primitives/functors/standard/wide.ts';
import type { Bool, U32 } from '../../primitives/functors/value.ts';
import { histogram } from '../../primitives/histogram.ts';
import { I64, isWithin } from './bounds.ts';
import { tableError } from './errors.ts';
import type { GroupAggregate } from './group-by.ts';
import { decodeCodes, type GroupCodes } from './group-keys.ts';
import type { HostColumn, HostTable } from './host-table.ts';
import { type IntegerPart, type IntegerValue, pairConstant, wideOf } from './integers.ts';
import { bitsPart, combineParts, constantPart, type Part, viewsOf } from './part.ts';
import { packedFlags } from './rows.ts';
import type { DeviceTable } from './table.ts';
import type { ValueOperand } from './values.ts';

/** Bins of a histogram that lie in a core's own cache. */
const MOST_BINS = 2 ** 17;
/** With fewer bits a pass there are too many passes. */
const LEAST_BITS = 4;
/** Backends that want walks this short run many indices at once: so many bins take them longer than a sort. */
const MOST_WALKED = 16;
/** From so many passes on, sorting is faster. */
const MOST_PASSES = 14;

type IntegerOperand = ValueOperand & { readonly family: 'integer' };
type Entries = readonly (readonly [string, GroupAggregate])[];

/** Operands, each once, and the digits that a pass counts. */
interface DensePlan {
  readonly operands: readonly IntegerOperand[];
  readonly bits: number;
}

/**
 * How few groups are counted and added up without a sort, if that is worth it: of integers, a pass counts how often each group
 * meets each value of some of their bits, of which sums are made: Σ 2^shift · digit · count. Counts fit in 32 bits, so nothing is
 * rounded or lost, and rows are only read.
 */
export function densePlan(
  { backend }: Context,
  { groups }: GroupCodes,
  entries: Entries,
  operands: readonly (ValueOperand | undefined)[],
): DensePlan | undefined {
  if (entries.some(([, { kind }]) => kind === 'min' || kind === 'max')) return undefined;
  const bits = Math.floor(Math.log2(MOST_BINS / (Number(groups) + 1)));
  if (bits < LEAST_BITS) return undefined;
  const all = operands.filter((each) => each !== undefined);
  if (backend.walkRows <= MOST_WALKED && all.length > 0) return undefined;
  const integers = all.filter((each): each is IntegerOperand => each.family === 'integer');
  if (integers.length < all.length) return undefined;
  const once = integers.filter((each, i) => integers.findIndex((other) => isSame(each, other)) === i);
  const passes = once.reduce((sum, each) => sum + passesOf(each, bits), 0);
  return passes <= MOST_PASSES ? { operands: once, bits } : undefined;
}

function isSame(a: IntegerPart, b: IntegerPart): boolean {
  const constants = ({ part }: IntegerPart): string => part.constants.map(({ value }) => `${value}`).join();
  return (
    a.part.structure === b.part.structure &&
    a.scale === b.scale &&
    a.part.columns.every((each, i) => each === b.part.columns[i]) &&
    constants(a) === constants(b)
  );
}

function rangeBits({ bounds: { least, greatest } }: IntegerPart): number {
  return Math.max(1, (greatest - least).toString(2).length);
}

function passesOf(integers: IntegerPart, bits: number): number {
  return Math.ceil(rangeBits(integers) / bits);
}

/** Counts and sums of one operand, by group. */
interface GroupSums {
  readonly counts: Uint32Array;
  readonly sums: readonly bigint[];
}

/** Counts, sums and averages of groups that rows are not sorted for. */
export async function denseGroups(
  table: DeviceTable,
  keys: readonly string[],
  codes: GroupCodes,
  entries: Entries,
  operands: readonly (ValueOperand | undefined)[],
  { operands: once, bits }: DensePlan,
): Promise<HostTable> {
  const found = await Promise.all(once.map((operand) => sumsOf(table, codes, operand, bits)));
  const whole = once.findIndex(({ validity }) => validity.every((each) => each === undefined));
  const rows = found[whole]?.counts ?? (await countBins(table, codes, [], undefined, 0));
  const present = Uint32Array.from(rows.keys()).filter((code) => rows[code]! > 0);
  const keyColumns = decodeCodes(codes, present);
  const columns = entries.map(([name, { kind }], i): [string, HostColumn] => {
    const operand = operands[i] as IntegerOperand | undefined;
    if (operand === undefined) return [name, { type: 'u32', values: present.map((code) => rows[code]!) }];
    const { counts, sums } = found[once.findIndex((each) => isSame(each, operand))]!;
    const some = present.map((code) => counts[code]!);
    if (kind === 'count') return [name, { type: 'u32', values: some }];
    const totals = Array.from(present, (code) => sums[code]!);
    return [name, kind === 'sum' ? sumColumn(totals, some, operand.scale) : averageColumn(totals, some, operand.scale)];
  });
  return Object.fromEntries([...keys.map((name, k): [string, HostColumn] => [name, keyColumns[k]!]), ...columns]);
}

function sumColumn(sums: readonly bigint[], counts: Uint32Array, scale: number): HostColumn {
  const large = sums.find((each) => !isWithin({ least: each, greatest: each }, I64));
  if (large !== undefined) {
    throw tableError('overflow', 'A sum does not fit in 64 bits.', { expected: 'at most 2^63 − 1', got: large });
  }
  const values = BigInt64Array.from(sums);
  const validity = packedFlags(Uint8Array.from(counts, (count) => Number(count > 0)));
  return scale > 0 ? { type: 'decimal', scale, values, validity } : { type: 'i64', values, validity };
}

function averageColumn(sums: readonly bigint[], counts: Uint32Array, scale: number): HostColumn {
  const values = Float64Array.from(sums, (sum, i) => Number(sum) / (counts[i]! * 10 ** scale));
  const validity = packedFlags(Uint8Array.from(counts, (count) => Number(count > 0)));
  return { type: 'f64', values, validity };
}

async function sumsOf(
  table: DeviceTable,
  codes: GroupCodes,
  operand: IntegerOperand,
  bits: number,
): Promise<GroupSums> {
  const passes = passesOf(operand, bits);
  const width = Math.ceil(rangeBits(operand) / passes);
  const { least } = operand.bounds;
  const counts = new Uint32Array(Number(codes.groups));
  const sums = new Array<bigint>(counts.length).fill(0n);
  const shifts = Array.from({ length: passes }, (_, pass) => pass * width);
  const counted = shifts.map((shift) =>
    countBins(table, codes, operand.validity, digitOf(operand, shift, width), width),
  );
  for (const [pass, shift] of shifts.entries()) {
    const bins = await counted[pass]!;
    for (let group = 0; group < counts.length; group++) {
      // At most 2^17 · 2^32: exact.
      let [total, count] = [0, 0];
      for (let digit = 0; digit < 2 ** width; digit++) {
        const met = bins[group * 2 ** width + digit]!;
        total += digit * met;
        count += met;
      }
      counts[group] = count;
      sums[group]! += BigInt(total) << BigInt(shift);
    }
  }
  return { counts, sums: sums.map((sum, group) => sum + least * BigInt(counts[group]!)) };
}

/** Some bits of integers, counted from their least on. */
function digitOf({ part, bounds: { least } }: IntegerPart, shift: number, width: number): Part<U32> {
  const constants = [shift, 2 ** width - 1].map((value) => constantPart('u32', value));
  return combineParts<IntegerValue | U32, U32>('group digit', [part, pairConstant(least), ...constants], (made) => {
    const [value, base, by, mask] = made as [IntegerValue, IntegerValue, U32, U32];
    if (value.kind !== 'pair') return wideOf(value).lo.sub(wideOf(base).lo).shr(by).and(mask);
    return shrU64({ a: sub64({ a: wideOf(value), b: wideOf(base) }), count: by }).lo.and(mask);
  });
}

/** How often rows of each group have each digit; rows that do not count are behind all groups. */
async function countBins(
  table: DeviceTable,
  { code, groups }: GroupCodes,
  validity: IntegerPart['validity'],
  digit: Part<U32> | undefined,
  width: number,
): Promise<Uint32Array> {
  const { context, rows } = table;
  const rest = constantPart('u32', Number(groups));
  const by = constantPart('u32', width);
  const counted = combineParts<U32 | Bool, U32>('valid code', [code, rest, bitsPart(validity)], (made) => {
    const [own, none, isValid] = made as [U32, U32, Bool];
    return select(none, own, isValid);
  });
  const bin = combineParts(
    'group bin',
    digit === undefined ? [counted, by] : [counted, by, digit],
    ([group, bits, low]) => [low === undefined ? group!.shl(bits!) : group!.shl(bits!).or(low)],
  );
  const bins = (Number(groups) + 1) * 2 ** width;
  const counts = context.scope(() => {
    const [view] = viewsOf(context, rows, ['u32'], bin);
    return histogram(view as Column<'u32'>, bins, { context });
  });
  const read = await context.read(counts);
  context.dispose(counts);
  return read.subarray(0, bins - 2 ** width);
}
