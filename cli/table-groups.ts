import { atOnce } from '../algorithms/stretches.ts';
import type { HostColumn } from '../algorithms/tables/host-table.ts';
import { hostColumn } from '../algorithms/tables/rows.ts';
import { resized } from '../formats/bytes/byte-arrays.ts';
import { isSet } from '../formats/tables/bits.ts';
import { storedType } from '../formats/tables/stored-type.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import { type KeyWords, keyWords } from './table-columns.ts';

/**
 * Numbers the groups of a file. A group is a distinct combination of values in some columns. Groups are numbered in the
 * order of their first occurrence, over all parts of the file.
 */
export interface GroupStore {
  /** Number of groups so far. */
  readonly size: number;
  /**
   * The group number of each row, for all rows or only for the rows in `places`. New groups get the next numbers.
   * Expected O(rows).
   */
  indicesOf(columns: readonly HostColumn[], rows: number, places?: Uint32Array): Uint32Array;
  /**
   * The key column with the index `key`. The column has one row per group. The codes of strings refer to the
   * dictionary of the latest part of the file.
   */
  column(key: number): HostColumn;
  /** Bytes of memory that the store uses. */
  readonly bytes: number;
}

const FIRST_ROOM = 2 ** 10;

/**
 * A key column with one row per group: its values as integers (see {@link keyWords}), and marks for the rows that are
 * null.
 */
interface StoredKey {
  low: Int32Array;
  high: Int32Array | undefined;
  isNull: Uint8Array;
  dictionary: readonly string[];
}

/**
 * Creates a store whose groups are the distinct values of the given fields. Without fields, all rows belong to group 0.
 */
export function groupStore(fields: readonly TableField[]): GroupStore {
  if (fields.length === 0) return singleGroup();
  let [room, size] = [FIRST_ROOM, 0];
  let slots = new Uint32Array(2 * FIRST_ROOM);
  let hashes = new Uint32Array(FIRST_ROOM);
  const keys = fields.map(
    (field): StoredKey => ({
      low: new Int32Array(FIRST_ROOM),
      high: isWide(field) ? new Int32Array(FIRST_ROOM) : undefined,
      isNull: new Uint8Array(FIRST_ROOM),
      dictionary: [],
    }),
  );

  function grow(): void {
    room *= 2;
    for (const key of keys) {
      key.low = resized(key.low, room);
      key.high = key.high && resized(key.high, room);
      key.isNull = resized(key.isNull, room);
    }
    hashes = resized(hashes, room);
    slots = new Uint32Array(2 * room);
    const mask = slots.length - 1;
    for (let index = 0; index < size; index++) {
      let slot = hashes[index]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = index + 1;
    }
  }

  function indexOf(given: readonly GivenKey[], row: number): number {
    const hash = hashOf(given, row);
    const mask = slots.length - 1;
    let slot = hash & mask;
    for (let entry = slots[slot]!; entry !== 0; entry = slots[slot]!) {
      if (hashes[entry - 1] === hash && isSame(keys, entry - 1, given, row)) return entry - 1;
      slot = (slot + 1) & mask;
    }
    const index = size++;
    for (let k = 0; k < keys.length; k++) put(keys[k]!, index, given[k]!, row);
    hashes[index] = hash;
    slots[slot] = index + 1;
    if (size === room) grow();
    return index;
  }

  return {
    get size() {
      return size;
    },
    indicesOf(columns, rows, places) {
      const given = columns.map(givenKey);
      for (const [k, column] of columns.entries()) {
        if (column.type === 'string') keys[k]!.dictionary = column.dictionary;
      }
      const indices = new Uint32Array(places === undefined ? rows : places.length);
      let last = -1;
      for (let i = 0; i < indices.length; i++) {
        const row = places === undefined ? i : places[i]!;
        // Groups from the device are sorted, so consecutive rows often belong to the same group. Therefore, the group
        // of the previous row is tried first.
        if (last < 0 || !isSame(keys, last, given, row)) last = indexOf(given, row);
        indices[i] = last;
      }
      return indices;
    },
    column: (key) => columnOf(fields[key]!, keys[key]!, size),
    get bytes() {
      const perRow = keys.reduce((sum, { high }) => sum + (high === undefined ? 5 : 9), 4);
      return room * perRow + 4 * slots.length;
    },
  };
}

function singleGroup(): GroupStore {
  return {
    size: 1,
    bytes: 0,
    indicesOf: (_, rows, places) => new Uint32Array(places === undefined ? rows : places.length),
    column: () => {
      throw new RangeError('there are no keys');
    },
  };
}

function isWide(field: TableField): boolean {
  return ['i64', 'u64', 'f64', 'decimal'].includes(storedType(field));
}

interface GivenKey extends KeyWords {
  readonly validity: Uint32Array | undefined;
}

function givenKey(column: HostColumn): GivenKey {
  return { ...keyWords(column), validity: column.validity };
}

function isNullAt({ validity }: GivenKey, row: number): boolean {
  return validity !== undefined && !isSet(validity, row);
}

/** The upper 32 bits of a value. If the column has only 32-bit integers, they are extended with their sign bit. */
function highAt({ low, high }: KeyWords, row: number): number {
  return high === undefined ? low[row]! >> 31 : high[row]! | 0;
}

function hashOf(given: readonly GivenKey[], row: number): number {
  let mixed = 0x9e3779b9;
  for (let k = 0; k < given.length; k++) {
    const key = given[k]!;
    if (isNullAt(key, row)) mixed = Math.imul(mixed ^ 0x7f4a7c15, 0x01000193);
    else mixed = Math.imul(mixed ^ key.low[row]! ^ Math.imul(highAt(key, row), 0x85ebca6b), 0xcc9e2d51);
    mixed ^= mixed >>> 15;
  }
  mixed = Math.imul(mixed, 0x2c1b3c6d);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function isSame(keys: readonly StoredKey[], index: number, given: readonly GivenKey[], row: number): boolean {
  for (let k = 0; k < keys.length; k++) {
    const [{ low, high, isNull }, key] = [keys[k]!, given[k]!];
    const isGivenNull = isNullAt(key, row);
    if (isGivenNull !== (isNull[index] === 1)) return false;
    if (isGivenNull) continue;
    if (low[index] !== (key.low[row]! | 0)) return false;
    if (high !== undefined && high[index] !== highAt(key, row)) return false;
  }
  return true;
}

function put({ low, high, isNull }: StoredKey, index: number, key: GivenKey, row: number): void {
  if (isNullAt(key, row)) {
    isNull[index] = 1;
    return;
  }
  low[index] = key.low[row]!;
  if (high !== undefined) high[index] = highAt(key, row);
}

function columnOf(field: TableField, { low, high, isNull, dictionary }: StoredKey, size: number): HostColumn {
  const kind = storedType(field);
  const scale = field.type === 'decimal' ? field.scale : 0;
  const isSigned = kind === 'i32' || kind === 'date' || kind === 'f32';
  const some = low.slice(0, size);
  const words = isSigned ? [some] : [new Uint32Array(some.buffer)];
  const flags = isNull.subarray(0, size).map((each) => 1 - each);
  return atOnce(
    hostColumn({ kind, dictionary, scale }, high === undefined ? words : [...words, high.slice(0, size)], flags),
  );
}
