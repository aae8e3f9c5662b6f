import { aHostColumn } from '../../algorithms/tables/argument-kinds.ts';
import { rowsOf } from '../../algorithms/tables/host-table.ts';
import { ArgumentError } from '../../primitives/checks/errors.ts';
import { anArrayOf, aRecord, aText, type Kind } from '../../primitives/checks/kinds.ts';
import { fieldOfColumn } from '../tables/table-file.ts';
import { cellText, nullsOf } from '../tables/write/cell-text.ts';
import { jsonCell } from '../tables/write/text-writers.ts';
import { type CsvOptions, fieldWriter } from '../text/csv-quote.ts';
import type { ZoneAttribute } from './zone-attributes.ts';

/** Accepts attributes of zones. */
export const someAttributes: Kind = anArrayOf(aRecord<ZoneAttribute>({ name: aText, column: aHostColumn }));

/** Writes the attributes of a zone. */
export type AttributeText = (zone: number) => string;

/**
 * Returns the fields of a zone in CSV, each after a comma. A zone that lacks an attribute has an empty field, and an empty
 * text is `""`.
 */
export function csvAttributes(attributes: readonly ZoneAttribute[], options: CsvOptions): AttributeText {
  const quote = fieldWriter(options);
  const cells = attributes.map(({ name, column }) => {
    const [text, isNull] = [cellText(fieldOfColumn(name, column), column), nullsOf(column)];
    const field = column.type === 'string' ? (zone: number) => quote(text(zone)) || '""' : text;
    return (zone: number) => (isNull(zone) ? ',' : `,${field(zone)}`);
  });
  return (zone) => cells.map((cell) => cell(zone)).join('');
}

/** Returns the members of a zone in JSON, each before a comma; null where the zone lacks the attribute. */
export function jsonAttributes(attributes: readonly ZoneAttribute[]): AttributeText {
  const cells = attributes.map(({ name, column }) => {
    const [key, cell] = [JSON.stringify(name), jsonCell(fieldOfColumn(name, column), column)];
    return (zone: number) => `${key}:${cell(zone)},`;
  });
  return (zone) => cells.map((cell) => cell(zone)).join('');
}

/**
 * Throws if two columns of a table would have one name, or attributes have other numbers of rows.
 *
 * @throws ArgumentError `zonal/attributes`.
 */
export function requireAttributes(
  attributes: readonly ZoneAttribute[],
  columns: readonly string[],
  zones: number,
): void {
  const names = new Set(columns);
  for (const { name, column } of attributes) {
    const rows = rowsOf(column);
    if (rows === zones && !names.has(name)) {
      names.add(name);
      continue;
    }
    const expected = rows === zones ? 'a name that no other column has' : `${zones} rows, one for each zone`;
    const sentence = `The attribute ${JSON.stringify(name)} cannot be a column of this table.`;
    throw new ArgumentError('zonal/attributes', sentence, {
      ...{ expected, got: rows === zones ? 'the name of another column' : `${rows}` },
      remedy: rows === zones ? 'Give it another name.' : 'Give the attributes of the zones that were counted.',
    });
  }
}
