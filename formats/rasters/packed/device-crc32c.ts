import type { U32 } from '../../../primitives/functors/value.ts';
import { For, If, Let, u32, Var } from '../../../primitives/index.ts';
import { crcTable } from './crc32c.ts';

interface Words {
  at(index: U32): U32;
}

/** Number of streams of words. With more, the registers of a processor do not last. */
const STREAMS = 4;

/** The table that {@link crcOfWords} takes. */
export function deviceCrcTable(): Uint32Array {
  return crcTable(4 * STREAMS);
}

/**
 * Emits the CRC-32C of `bytes` bytes from word `first` on.
 *
 * A look-up has to wait for the one before it in the same stream. So the words are dealt to several streams, which are
 * independent: a stream combines its checksum with its next word, and moves both on by as many bytes as a word of each
 * stream has. The streams meet in the last words that are dealt, and what is left follows word by word.
 *
 * @param table - The table of {@link deviceCrcTable}.
 */
export function crcOfWords(words: Words, table: Words, first: U32, bytes: U32): U32 {
  /** What a checksum becomes over its own four bytes and `zeros` bytes of 0. */
  const moved = (crc: U32, zeros: number): U32 => {
    const row = (byte: number): U32 =>
      table.at(
        crc
          .shr(8 * byte)
          .and(255)
          .add(256 * (zeros + 3 - byte)),
      );
    return row(0)
      .xor(row(1))
      .xor(row(2).xor(row(3)));
  };
  const whole = Let(bytes.shr(2));
  const end = Let(first.add(whole));
  const at = Var(first);
  const crc = Var(u32(0xffffffff));
  const step = (stream?: U32): void => {
    const word = words.at(at).xor(crc);
    crc.set(moved(Let(stream === undefined ? word : word.xor(stream)), 0));
    at.set(at.add(1));
  };
  If(whole.ge(STREAMS), () => {
    const streams = Array.from({ length: STREAMS }, (_, k) => Var(k === 0 ? crc : u32(0)));
    For(1, whole.div(STREAMS), () => {
      const next = streams.map((stream, k) => Let(words.at(at.add(k)).xor(stream)));
      for (const [k, stream] of streams.entries()) stream.set(moved(next[k]!, 4 * (STREAMS - 1)));
      at.set(at.add(STREAMS));
    });
    crc.set(u32(0));
    for (const stream of streams) step(stream);
  });
  For(at, end, () => step());
  const rest = Let(words.at(end));
  For(0, bytes.and(3), (k) => {
    const byte = rest.shr(k.shl(3));
    crc.set(crc.shr(8).xor(table.at(crc.xor(byte).and(255))));
  });
  return Let(crc.xor(0xffffffff));
}
