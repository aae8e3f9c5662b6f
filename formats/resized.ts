/** The first numbers of a longer column. */
export function resizedFloats(column: Float64Array, size: number): Float64Array {
  const larger = new Float64Array(size);
  larger.set(column);
  return larger;
}

/** The first bytes of a longer column. */
export function resizedBytes(column: Uint8Array, size: number): Uint8Array {
  const larger = new Uint8Array(size);
  larger.set(column);
  return larger;
}
