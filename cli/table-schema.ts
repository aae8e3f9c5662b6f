import type { HostColumn } from '../algorithms/tables/host-table.ts';
import type { TableField, TableFile } from '../formats/tables/table-file.ts';
import type { SomeRows } from './table-rows.ts';

/** The columns of the table that `quadrille table --schema` writes. */
export const SCHEMA_FIELDS: readonly TableField[] = [
  { name: 'column', type: 'string', nullable: false },
  { name: 'type', type: 'string', nullable: false },
  { name: 'nullable', type: 'bool', nullable: true },
  { name: 'read', type: 'bool', nullable: false },
];

/** A row for every column of a file: its name, its type, whether it may be null, and whether it can be read. */
export function schemaRows({ fields, unread }: Pick<TableFile, 'fields' | 'unread'>): SomeRows {
  const names = [...fields, ...unread].map(({ name }) => name);
  const types = [...fields.map(typeText), ...unread.map(({ type, what }) => `${type} (${what})`)];
  const rows = names.length;
  // What may be null is not known of columns that are not read.
  const validity = new Uint32Array(Math.ceil(rows / 32));
  for (let row = 0; row < fields.length; row++) validity[row >> 5]! |= 1 << (row & 31);
  return {
    rows,
    columns: {
      column: textColumn(names),
      type: textColumn(types),
      nullable: {
        type: 'bool',
        values: Uint8Array.from({ length: rows }, (_, row) => Number(fields[row]?.nullable)),
        validity,
      },
      read: { type: 'bool', values: Uint8Array.from({ length: rows }, (_, row) => Number(row < fields.length)) },
    },
  };
}

function textColumn(texts: readonly string[]): HostColumn {
  const dictionary = [...new Set(texts)];
  const codes = new Map(dictionary.map((text, code) => [text, code]));
  return { type: 'string', codes: Uint32Array.from(texts, (text) => codes.get(text)!), dictionary };
}

/** A type in words, with what belongs to it: `timestamp[us, UTC]`, `decimal[2]`. */
function typeText(field: TableField): string {
  if (field.type === 'decimal') return `decimal[${field.scale}]`;
  if (field.type === 'time') return `time[${field.unit}]`;
  return field.type === 'timestamp' ? `timestamp[${field.unit}${field.utc ? ', UTC' : ''}]` : field.type;
}
