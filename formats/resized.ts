/** Copies an array to a longer one. The added elements are 0. */
export function resized<A extends Float64Array | Uint32Array | Int32Array | Uint8Array>(array: A, length: number): A {
  const longer = new (array.constructor as new (length: number) => A)(length);
  longer.set(array);
  return longer;
}
