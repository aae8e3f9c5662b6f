import type { Note } from '../../algorithms/notes.ts';
import { listNames, quoteName } from '../../algorithms/quoted-names.ts';
import type { HostColumn } from '../../algorithms/tables/host-table.ts';
import { FormatError, type OutOfMemoryError } from '../../primitives/checks/errors.ts';
import { overMemory } from '../memory.ts';
import { textColumn } from '../tables/text-column.ts';
import { isJsonObject } from './feature.ts';

/** An attribute of zones. */
export interface ZoneAttribute {
  readonly name: string;
  /**
   * A row for each zone; null where a zone lacks the attribute, or it is null. Whole numbers are i64, other numbers f64,
   * truth values bool. Texts are strings, and so are attributes whose values differ in kind, and lists and objects, as
   * JSON.
   */
  readonly column: HostColumn;
}

/** Which attributes of zones are read: all, or those with these names, in this order. */
export type ChosenAttributes = 'all' | readonly string[];

/** Collects the attributes of zones while these are read. */
export interface AttributeReader {
  /** Forgets all zones, because they are read again. */
  begin(): void;
  /** Whether the attribute with this name is read. */
  wants(name: string): boolean;
  /**
   * Takes the names of all attributes, where a file lists them.
   *
   * @throws FormatError `format/missing-property` if one that was named is not among them, also if there are no zones.
   */
  list(names: readonly string[]): void;
  /** Takes the `properties` of the next zone. */
  add(properties: unknown): void;
  /**
   * The attributes of all zones.
   *
   * @throws FormatError `format/missing-property` if no zone has one that was named, `format/bad-property` for lists and
   * objects that are nested too deeply; OutOfMemoryError `memory/limit`.
   */
  finish(): { readonly attributes: readonly ZoneAttribute[]; readonly notes: readonly Note[] };
}

/** The values of an attribute, of the zones that have it. */
interface Found {
  readonly zones: number[];
  readonly values: unknown[];
}

/** Names that an error lists. */
const NAMES_SHOWN = 20;

export function attributeReader(
  chosen: ChosenAttributes,
  file: string,
  memoryBytes: number = Number.POSITIVE_INFINITY,
): AttributeReader {
  const found = new Map<string, Found>();
  const seen = new Set<string>();
  let [zones, bytes] = [0, 0];
  const hold = (more: number): void => {
    bytes += more;
    if (bytes > memoryBytes) throw tooLarge(bytes, file, memoryBytes);
  };
  const see = (names: readonly string[]): void => {
    for (const name of names) if (seen.size < NAMES_SHOWN) seen.add(name);
  };
  return {
    begin() {
      found.clear();
      [zones, bytes] = [0, 0];
    },
    wants: (name) => chosen === 'all' || chosen.includes(name),
    list(names) {
      see(names);
      const unknown = chosen === 'all' ? undefined : chosen.find((name) => !names.includes(name));
      if (unknown !== undefined) throw missing(unknown, seen, file);
    },
    add(properties) {
      const zone = zones++;
      if (!isJsonObject(properties)) return;
      if (seen.size < NAMES_SHOWN) see(Object.keys(properties));
      const names =
        chosen === 'all' ? Object.keys(properties) : chosen.filter((name) => Object.hasOwn(properties, name));
      for (const name of names) {
        const own = found.get(name) ?? { zones: [], values: [] };
        found.set(name, own);
        if (properties[name] === null) continue;
        hold(BYTES_PER_VALUE + (typeof properties[name] === 'string' ? 2 * properties[name].length : 0));
        own.zones.push(zone);
        own.values.push(properties[name]);
      }
    },
    finish() {
      const names = chosen === 'all' ? [...found.keys()] : chosen;
      hold(names.length * zones * BYTES_PER_CELL);
      const texts: string[] = [];
      const attributes = names.map((name) => {
        const own = found.get(name) ?? { zones: [], values: [] };
        if (zones > 0 && !found.has(name)) throw missing(name, seen, file);
        const { column, isText } = columnOf(own, zones, name, file);
        if (isText) texts.push(name);
        return { name, column };
      });
      return { attributes, notes: textNotes(texts) };
    },
  };
}

function textNotes(names: readonly string[]): Note[] {
  if (names.length === 0) return [];
  const [those, are] = names.length === 1 ? ['1 attribute has', 'is'] : [`${names.length} attributes have`, 'are'];
  const message = `${those} values of several kinds, or lists or objects, and ${are} given as text: ${listNames(names, NAMES_SHOWN)}.`;
  return [{ code: 'zones/attributes-as-text', message, count: names.length }];
}

/** Bytes of a value while zones are read, without its text; and of a cell of a column. */
const [BYTES_PER_VALUE, BYTES_PER_CELL] = [32, 12];

function tooLarge(needed: number, file: string, allowed: number): OutOfMemoryError {
  return overMemory('The attributes of the zones are too large to be held in memory.', {
    needed,
    what: 'their values',
    allowed,
    instead: 'name fewer attributes',
    place: { file },
  });
}

function missing(name: string, seen: ReadonlySet<string>, file: string): FormatError {
  return new FormatError('format/missing-property', `No zone has the attribute ${quoteName(name)}.`, {
    remedy: seen.size === 0 ? 'The zones have no attributes.' : `There are ${[...seen].map(quoteName).join(', ')}.`,
    place: { file },
  });
}

type ValueKind = 'text' | 'digits' | 'whole' | 'real' | 'bool' | 'nested';

/** A whole number beyond 2^53, which is read as its digits; see `jsonValueOf`. */
const DIGITS = /^-?[1-9]\d{15,18}$/;

function kindOf(value: unknown): ValueKind {
  if (typeof value === 'number') return Number.isSafeInteger(value) && !Object.is(value, -0) ? 'whole' : 'real';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value !== 'string') return 'nested';
  const isWhole = DIGITS.test(value) && !Number.isSafeInteger(Number(value));
  return isWhole && BigInt.asIntN(64, BigInt(value)) === BigInt(value) ? 'digits' : 'text';
}

/** The column of an attribute, and whether values of other kinds became texts. */
function columnOf(
  { zones, values }: Found,
  count: number,
  name: string,
  file: string,
): { readonly column: HostColumn; readonly isText: boolean } {
  const validity = values.length === count ? undefined : validityOf(zones, count);
  const kinds = new Set(values.map(kindOf));
  const only = (...allowed: readonly ValueKind[]): boolean => [...kinds].every((kind) => allowed.includes(kind));
  const isText = !only('text', 'digits');
  if (kinds.size > 0 && only('bool')) {
    const column = { type: 'bool', values: new Uint8Array(count), validity } as const;
    for (const [at, zone] of zones.entries()) column.values[zone] = Number(values[at]);
    return { column, isText: false };
  }
  if (kinds.has('whole') && only('whole', 'digits')) {
    const column = { type: 'i64', values: new BigInt64Array(count), validity } as const;
    for (const [at, zone] of zones.entries()) column.values[zone] = BigInt(values[at] as number | string);
    return { column, isText: false };
  }
  if (kinds.size > 0 && only('whole', 'real')) {
    const column = { type: 'f64', values: new Float64Array(count), validity } as const;
    for (const [at, zone] of zones.entries()) column.values[zone] = values[at] as number;
    return { column, isText: false };
  }
  const texts = textColumn(values.map((value) => textOf(value, name, file)));
  const codes = new Uint32Array(count);
  for (const [at, zone] of zones.entries()) codes[zone] = texts.codes[at]!;
  return { column: { ...texts, codes, validity }, isText };
}

function validityOf(zones: readonly number[], count: number): Uint32Array {
  const bits = new Uint32Array(Math.ceil(count / 32));
  for (const zone of zones) bits[zone >> 5]! |= 1 << (zone & 31);
  return bits;
}

function textOf(value: unknown, name: string, file: string): string {
  if (typeof value === 'string') return value;
  if (Object.is(value, -0)) return '-0';
  if (typeof value === 'number') return String(value);
  try {
    return JSON.stringify(value);
  } catch {
    throw new FormatError('format/bad-property', `The attribute ${quoteName(name)} is nested too deeply.`, {
      remedy: 'Leave it out.',
      place: { file },
    });
  }
}
