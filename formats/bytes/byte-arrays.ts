/** A `DataView` of the same memory; no bytes are copied. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** The text that bytes spell in UTF-8. A byte-order mark stays; bytes that are not UTF-8 become U+FFFD. */
export function utf8Text(bytes: Uint8Array): string {
  return utf8.decode(bytes);
}

/** The text whose characters have the bytes as codes (ISO 8859-1). Meant for numbers, keywords and the like. */
export function latin1Text(bytes: Uint8Array, from = 0, to: number = bytes.length): string {
  let text = '';
  for (let at = from; at < to; at += PIECE)
    text += String.fromCharCode.apply(null, bytes.subarray(at, Math.min(to, at + PIECE)) as unknown as number[]);
  return text;
}

/** Arguments of one call. */
const PIECE = 1024;

/** Whether the bytes from `start` on begin with others. */
export function beginsWith(bytes: Uint8Array, start: number, begin: Uint8Array): boolean {
  for (let at = 0; at < begin.length; at++) if (bytes[start + at] !== begin[at]) return false;
  return true;
}

/** The elements of several arrays, one after the other. A single array is not copied. */
export function joinedArrays<A extends Float64Array | Uint32Array | Uint8Array>(
  parts: readonly A[],
  Kind: new (length: number) => A,
): A {
  const [only] = parts;
  if (parts.length === 1) return only!;
  const joined = new Kind(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Copies an array to a longer one. The added elements are 0. */
export function resized<A extends Float64Array | Uint32Array | Int32Array | Uint8Array>(array: A, length: number): A {
  const longer = new (array.constructor as new (length: number) => A)(length);
  longer.set(array);
  return longer;
}
