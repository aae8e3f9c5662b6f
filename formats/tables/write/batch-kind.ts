import { hostValues } from '../../../algorithms/tables/argument-kinds.ts';
import { isPlain, isRecord } from '../../../primitives/checks/given.ts';
import {
  aFlag,
  anInstance,
  aRecord,
  aText,
  aWhole,
  aWord,
  type FieldKinds,
  type Kind,
  optional,
  where,
} from '../../../primitives/checks/kinds.ts';
import { storedType } from '../stored-type.ts';
import type { TableField } from '../table-file.ts';

const validity: Kind = optional(anInstance(Uint32Array));
// The strings in the array are not checked, because a dictionary may be large and is shared by all batches.
const dictionary: Kind = where('an array of texts', Array.isArray);

/** Returns a validator of batches of rows. A batch must contain a matching column for every field. */
export function rowsOf(fields: readonly TableField[]): Kind {
  return (part, path, homes) => {
    const flaw = aRecord({
      rows: aWhole(),
      columns: where('a record of columns', (given) => isRecord(given) && isPlain(given)),
    })(part, path, homes);
    if (flaw !== undefined) return flaw;
    const { rows, columns } = part as { readonly rows: number; readonly columns: { readonly [name: string]: unknown } };
    for (const field of fields) {
      const own = Object.hasOwn(columns, field.name) ? columns[field.name] : undefined;
      const wrong = columnOf(field, rows)(own, `${path}.columns.${field.name}`, homes);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
}

function columnOf(field: TableField, rows: number): Kind {
  const type = storedType(field);
  const long =
    (values: Kind): Kind =>
    (part, path, homes) =>
      values(part, path, homes) ?? longEnough(rows)(part, path, homes);
  const parts: FieldKinds<object> = {
    type: where(type, (given) => given === type),
    ...(type === 'string' ? { codes: long(anInstance(Uint32Array)), dictionary } : { values: long(hostValues[type]) }),
    ...(field.type === 'decimal' ? { scale: where(String(field.scale), (given) => given === field.scale) } : {}),
    validity,
  };
  return aRecord(parts);
}

function longEnough(rows: number): Kind {
  return where(`${rows} rows`, (given) => (given as Uint8Array).length === rows);
}

const TYPES = [...Object.keys(hostValues), 'string', 'timestamp', 'time'];

/** Validator of a field of a table, which consists of a name and a type. */
export const aField: Kind = (part, path, homes) => {
  const flaw = aRecord({ name: aText, type: aWord(TYPES), nullable: aFlag })(part, path, homes);
  if (flaw !== undefined) return flaw;
  const { type } = part as { readonly type: string };
  if (type === 'decimal') return aRecord({ scale: aWhole(0, 38) })(part, path, homes);
  const unit = aWord(['s', 'ms', 'us', 'ns']);
  if (type === 'time') return aRecord({ unit })(part, path, homes);
  return type === 'timestamp' ? aRecord({ unit, utc: aFlag })(part, path, homes) : undefined;
};
