/**
 * Which rows are valid (not null), one bit per row: row i is bit `i % 32` of word `i >> 5`, as in Arrow. Bits beyond
 * the last row are ignored. If a column has no validity, all its rows are valid.
 */
export type Validity = Uint32Array;

/** Fields that columns of all types have. */
export interface HostColumnBase {
  readonly validity?: Validity | undefined;
}

/** A column on the host, as made by file readers. Values of rows that are not valid are ignored. */
export type HostColumn = HostColumnBase &
  (
    | { readonly type: 'u32'; readonly values: Uint32Array | Uint16Array | Uint8Array }
    | { readonly type: 'i32'; readonly values: Int32Array | Int16Array | Int8Array }
    | { readonly type: 'f32'; readonly values: Float32Array }
    | { readonly type: 'u64'; readonly values: BigUint64Array }
    | { readonly type: 'i64'; readonly values: BigInt64Array }
    | { readonly type: 'f64'; readonly values: Float64Array }
    /** 0 means false, any other value true. */
    | { readonly type: 'bool'; readonly values: Uint8Array }
    /** Dates as days since 1970-01-01. */
    | { readonly type: 'date'; readonly values: Int32Array }
    /** Decimal numbers: row i has the value `values[i] · 10^−scale`. */
    | { readonly type: 'decimal'; readonly values: BigInt64Array | Int32Array; readonly scale: number }
    /**
     * Strings: row i has the string `dictionary[codes[i]]`. The dictionary may be in any order, but must not contain a
     * string twice.
     */
    | { readonly type: 'string'; readonly codes: Uint32Array; readonly dictionary: readonly string[] }
  );

/** A table on the host: columns of equal length, by name. */
export type HostTable = { readonly [name: string]: HostColumn };

export type ColumnKind = HostColumn['type'];

/**
 * A cell as a JavaScript value: 64-bit integers are bigints, dates are days since 1970-01-01, decimals are `{ units,
 * scale }`.
 */
export type CellValue = number | bigint | boolean | string | Decimal | null;

/** A decimal number with the value `units · 10^−scale`. */
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

export function rowsOf(column: HostColumn): number {
  return column.type === 'string' ? column.codes.length : column.values.length;
}

/** Maximum number of decimal places of a decimal in a query. */
export const MAX_PLACES = 10_000;
