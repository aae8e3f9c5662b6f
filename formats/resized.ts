/** Copies a column to a longer one. The added elements are 0. */
export function resizedFloats(column: Float64Array, size: number): Float64Array {
  const larger = new Float64Array(size);
  larger.set(column);
  return larger;
}

/** Copies a column to a longer one. The added elements are 0. */
export function resizedBytes(column: Uint8Array, size: number): Uint8Array {
  const larger = new Uint8Array(size);
  larger.set(column);
  return larger;
}
