import { tableFromIPC } from '@uwdata/flechette';

/** The cells of an Arrow file as texts: nothing for null, and as in CSV for others. */
export function arrowTexts(bytes: Uint8Array): { readonly names: string[]; readonly rows: string[][] } {
  const table = tableFromIPC(bytes, { useBigInt: true });
  const rows = Array.from({ length: table.numRows }, (_, row) =>
    table.schema.fields.map((_, at) => {
      const value: unknown = table.getChildAt(at).at(row);
      return value === null ? '' : Object.is(value, -0) ? '-0.0' : String(value);
    }),
  );
  return { names: table.schema.fields.map(({ name }) => name), rows };
}
