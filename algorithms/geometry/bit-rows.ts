/** Sets `count` bits, at least one, of the row of bits that begins at the word `start`, from the bit `first` on. */
export function setBits(bits: Int32Array | Uint32Array, start: number, first: number, count: number): void {
  const last = first + count - 1;
  const from = start + (first >> 5);
  const to = start + (last >> 5);
  const low = -1 << (first & 31);
  const high = ~(-2 << (last & 31));
  if (from === to) {
    bits[from]! |= low & high;
    return;
  }
  bits[from]! |= low;
  for (let at = from + 1; at < to; at++) bits[at] = -1;
  bits[to]! |= high;
}
