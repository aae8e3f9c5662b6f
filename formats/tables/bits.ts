/** Allocates 32-bit words for `bits` bits, which are all 0. The first bit is the lowest bit of the first word. */
export function bitWords(bits: number): Uint32Array<ArrayBuffer> {
  return new Uint32Array(Math.ceil(bits / 32));
}

export function isSet(words: Uint32Array, bit: number): boolean {
  return ((words[bit >>> 5]! >>> (bit & 31)) & 1) === 1;
}

/** Sets the bits `from … to − 1` to 1. */
export function setBits(words: Uint32Array, from: number, to: number): void {
  for (let at = from; at < to; ) {
    const [word, bit] = [at >>> 5, at & 31];
    const count = Math.min(32 - bit, to - at);
    words[word]! |= (count === 32 ? -1 : (1 << count) - 1) << bit;
    at += count;
  }
}

/** Number of 1 bits among the bits `from … to − 1`. */
export function countBits(words: Uint32Array, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; ) {
    const bit = at & 31;
    const length = Math.min(32 - bit, to - at);
    const word = words[at >>> 5]! >>> bit;
    count += popcount(length === 32 ? word : word & ((1 << length) - 1));
    at += length;
  }
  return count;
}

export function popcount(word: number): number {
  let sums = word - ((word >>> 1) & 0x55555555);
  sums = (sums & 0x33333333) + ((sums >>> 2) & 0x33333333);
  return Math.imul((sums + (sums >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Copies `count` bits from index `start` of `from` to index `first` of `to`. The target bits must be 0. */
export function copyBits(to: Uint32Array, first: number, from: Uint32Array, start: number, count: number): void {
  for (let done = 0; done < count; ) {
    const [source, target] = [start + done, first + done];
    const length = Math.min(32 - (source & 31), 32 - (target & 31), count - done);
    const bits = (from[source >>> 5]! >>> (source & 31)) & (length === 32 ? -1 : (1 << length) - 1);
    to[target >>> 5]! |= bits << (target & 31);
    done += length;
  }
}

/** Like {@link copyBits}, but copies from bytes. The first bit is the lowest bit of the first byte. */
export function copyByteBits(to: Uint32Array, first: number, from: Uint8Array, start: number, count: number): void {
  for (let done = 0; done < count; ) {
    const [source, target] = [start + done, first + done];
    const length = Math.min(8 - (source & 7), 32 - (target & 31), count - done);
    const bits = (from[source >>> 3]! >>> (source & 7)) & ((1 << length) - 1);
    to[target >>> 5]! |= bits << (target & 31);
    done += length;
  }
}
