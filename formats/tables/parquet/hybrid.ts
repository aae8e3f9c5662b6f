import { copyByteBits, countBits, setBits } from '../bits.ts';

/**
 * Called for each run (group of consecutive values) of Parquet's RLE/bit-packing hybrid encoding. `first` is the index
 * of the run's first value, and `count` is the number of values in the run. If `value` is −1, the values are packed
 * bits that begin at byte `at`. Otherwise all values are equal to `value`.
 */
type VisitRun = (first: number, count: number, value: number, at: number) => void;

/**
 * Visits the runs in the bytes `start … end − 1`, until `count` values of `width` bits have been visited.
 *
 * @throws RangeError if the bytes contain fewer values.
 */
function visitRuns(bytes: Uint8Array, start: number, end: number, width: number, count: number, visit: VisitRun): void {
  const valueBytes = (width + 7) >> 3;
  let at = start;
  for (let first = 0; first < count; ) {
    let [head, shift, byte] = [0, 0, 0];
    do {
      if (at >= end || shift > 28) throw new RangeError('its runs are cut off');
      byte = bytes[at++]!;
      head |= (byte & 127) << shift;
      shift += 7;
    } while (byte >= 128);
    head >>>= 0;
    const isPacked = (head & 1) === 1;
    const length = isPacked ? Math.floor(head / 2) * 8 : Math.floor(head / 2);
    const taken = Math.min(length, count - first);
    // The last packed run may be padded to a multiple of eight values. The check ignores the padding: only the bytes of
    // the needed values must exist.
    const min = isPacked ? Math.ceil((taken * width) / 8) : valueBytes;
    if (at + min > end) throw new RangeError('its runs are cut off');
    let value = -1;
    if (!isPacked) {
      value = 0;
      for (let i = 0; i < valueBytes; i++) value += bytes[at + i]! * 256 ** i;
    }
    visit(first, taken, value, at);
    at += isPacked ? (length / 8) * width : valueBytes;
    first += taken;
  }
}

/** Decodes `count` values of up to 32 bits each into `into`. */
export function readHybrid(
  bytes: Uint8Array,
  start: number,
  end: number,
  width: number,
  into: Uint32Array,
  count: number,
): void {
  if (width > 32) throw new RangeError(`its values have ${width} bits`);
  visitRuns(bytes, start, end, width, count, (first, length, value, at) => {
    if (value >= 0) into.fill(value, first, first + length);
    else if (width <= 24) unpack(bytes, at, width, into, first, length);
    else unpackWide(bytes, at, width, into, first, length);
  });
}

/**
 * Unpacks values of up to 24 bits. `held` contains at most 24 bits of a value and 7 bits of the next value, which fit
 * in a 32-bit integer.
 */
function unpack(bytes: Uint8Array, start: number, width: number, into: Uint32Array, first: number, count: number) {
  const mask = (1 << width) - 1;
  let [at, held, bits] = [start, 0, 0];
  for (let i = first; i < first + count; i++) {
    while (bits < width) {
      held |= bytes[at++]! << bits;
      bits += 8;
    }
    into[i] = held & mask;
    held >>>= width;
    bits -= width;
  }
}

function unpackWide(bytes: Uint8Array, start: number, width: number, into: Uint32Array, first: number, count: number) {
  const limit = 2 ** width;
  let [at, held, bits] = [start, 0, 0];
  for (let i = first; i < first + count; i++) {
    while (bits < width) {
      held += bytes[at++]! * 2 ** bits;
      bits += 8;
    }
    into[i] = held % limit;
    held = Math.floor(held / limit);
    bits -= width;
  }
}

/**
 * Decodes definition levels of one bit each, and writes them as validity bits for the rows from `row` on.
 *
 * @returns Number of rows that are not null.
 */
export function readValidity(
  bytes: Uint8Array,
  start: number,
  end: number,
  validity: Uint32Array,
  row: number,
  count: number,
): number {
  visitRuns(bytes, start, end, 1, count, (first, length, value, at) => {
    if (value > 1) throw new RangeError('one of its levels is too high');
    if (value === 1) setBits(validity, row + first, row + first + length);
    else if (value === -1) copyByteBits(validity, row + first, bytes.subarray(at), 0, length);
  });
  return countBits(validity, row, row + count);
}
