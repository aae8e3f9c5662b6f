/** The bytes before position `end`, in which varints are read. Reading beyond them throws a RangeError. */
export interface Region {
  readonly bytes: Uint8Array;
  readonly end: number;
}

/** Bytes of the longest varint, which holds a number of 64 bits. */
const LONGEST_NUMBER = 10;

/** Returns the position after the varint that begins at `start`. */
export function skipNumber(region: Region, start: number): number {
  for (let at = start; at < start + LONGEST_NUMBER; at++) if (byteAt(region, at) < 128) return at + 1;
  throw new RangeError('its metadata have a number of more than 64 bits');
}

/** Returns the unsigned number that the varint at `start` holds. Numbers above 2^53 are rounded. */
export function numberAt(region: Region, start: number): number {
  let number = 0;
  for (let at = start, scale = 1; ; at++, scale *= 128) {
    const byte = byteAt(region, at);
    number += (byte & 127) * scale;
    if (byte < 128) return number;
  }
}

/** Returns a byte of the region. */
export function byteAt({ bytes, end }: Region, at: number): number {
  if (at >= end) throw new RangeError('its metadata are cut off');
  return bytes[at]!;
}
