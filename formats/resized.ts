/** A longer copy of a column. The added numbers are 0. */
export function resizedFloats(column: Float64Array, size: number): Float64Array {
  const larger = new Float64Array(size);
  larger.set(column);
  return larger;
}

/** A longer copy of a column. The added bytes are 0. */
export function resizedBytes(column: Uint8Array, size: number): Uint8Array {
  const larger = new Uint8Array(size);
  larger.set(column);
  return larger;
}
