import { joinedArrays } from '../bytes/byte-arrays.ts';
import type { CodecFaults } from '../bytes/codec-faults.ts';

/** Numbers of a frame, of a scan, of tables of codes, of intervals and of the first restart among the markers. */
const MARKER = { frame: 0xc0, scan: 0xda, huffman: 0xc4, interval: 0xdd, restart: 0xd0 };

/** Codes by the next 16 bits: the number of bits of the code, times 256, plus what it stands for. 0 is no code. */
type Codes = Uint16Array;

/** A JPEG as its segments and the bytes from its first scan on. */
interface Parts {
  readonly segments: readonly Uint8Array[];
  readonly scans: Uint8Array;
}

/** A JPEG of several components. */
interface Together extends Parts {
  readonly width: number;
  readonly height: number;
  readonly components: number;
  readonly isWhole: boolean;
  readonly isProgressive: boolean;
}

/**
 * Splits a JPEG of several components into one of each, with the same coefficients. The bits of a block do not depend on
 * those of other components, so they are copied as they are. libjpeg-turbo's simple interface, which decodes here, knows
 * no images of two components, and four only as inks.
 *
 * @param head - A baseline JPEG whose components have the same size, in one scan.
 * @param tables - Further segments of tables, which come before those of the image.
 */
export function splitComponents(head: Together, tables: readonly Uint8Array[], faults: CodecFaults): Parts[] {
  const { width, height, components, isWhole, isProgressive, segments, scans } = head;
  if (!isWhole || isProgressive || scans[4] !== components)
    throw faults.unsupported(`${components} components that are not in one scan of equal sizes`);
  const frame = segments.find(([, marker]) => marker === MARKER.frame || marker === MARKER.frame + 1)!;
  // A block of each component follows those of the others only if each unit has one.
  if (frame[11] !== 0x11) throw faults.unsupported(`${components} components of several blocks in a unit`);
  const [dc, ac] = readCodes([...tables, ...segments], faults);
  const parts = Array.from({ length: components }, (_, at) => {
    const choice = scans[6 + 2 * at]!;
    if (scans[5 + 2 * at] !== frame[10 + 3 * at]) throw faults.damaged('components in another order');
    const [first, others] = [dc[choice >> 4], ac[choice & 15]];
    if (first === undefined || others === undefined) throw faults.damaged('a scan without its tables');
    return { first, others, to: bitWriter(scans.length) };
  });
  const start = 2 + scans[2]! * 256 + scans[3]!;
  const from = bitReader(scans, start, faults);
  const interval = intervalOf([...tables, ...segments]);
  const blocks = Math.ceil(width / 8) * Math.ceil(height / 8);
  for (let block = 0; block < blocks; block++) {
    if (interval > 0 && block > 0 && block % interval === 0) {
      const restart = from.restart();
      for (const { to } of parts) to.restart(restart);
    }
    for (const { first, others, to } of parts) copyBlock(from, first, others, to, faults);
  }
  return parts.map(({ to }, at) => ({
    segments: segments.map((segment) => (segment === frame ? frameOfOne(frame, at) : segment)),
    scans: joinedArrays([scanOfOne(scans, at), to.end()], Uint8Array),
  }));
}

function copyBlock(from: BitReader, first: Codes, others: Codes, to: BitWriter, faults: CodecFaults): void {
  for (let at = 0; at < 64; at++) {
    const code = (at === 0 ? first : others)[from.peek()]!;
    if (code === 0) throw faults.damaged('a code that its tables do not have');
    from.copy(code >> 8, to);
    const [zeros, bits] = at === 0 ? [0, code & 255] : [(code >> 4) & 15, code & 15];
    if (bits > 15) throw faults.damaged('a coefficient of too many bits');
    if (at > 0 && bits === 0 && zeros < 15) return;
    at += zeros;
    if (at > 63) throw faults.damaged('more coefficients than a block has');
    if (bits > 0) from.copy(bits, to);
  }
}

/** The tables of codes of first coefficients and of the others, by their numbers. */
function readCodes(segments: readonly Uint8Array[], faults: CodecFaults): [Codes[], Codes[]] {
  const tables: [Codes[], Codes[]] = [[], []];
  for (const segment of segments) {
    if (segment[1] !== MARKER.huffman) continue;
    for (let at = 4; at + 17 <= segment.length; ) {
      const codes: Codes = new Uint16Array(2 ** 16);
      let [value, next] = [at + 17, 0];
      for (let length = 1; length <= 16; length++) {
        for (let count = segment[at + length]!; count > 0; count--, value++) {
          const end = next + 2 ** (16 - length);
          if (end > 2 ** 16 || value >= segment.length) throw faults.damaged('a table of too many codes');
          codes.fill(length * 256 + segment[value]!, next, end);
          next = end;
        }
      }
      tables[(segment[at]! >> 4) & 1]![segment[at]! & 15] = codes;
      at = value;
    }
  }
  return tables;
}

/** Number of blocks between restarts; 0 if there are none. */
function intervalOf(segments: readonly Uint8Array[]): number {
  const last = segments.findLast((segment) => segment[1] === MARKER.interval);
  return last === undefined ? 0 : last[4]! * 256 + last[5]!;
}

function frameOfOne(frame: Uint8Array, at: number): Uint8Array {
  const [size, own] = [frame.subarray(4, 9), frame.subarray(10 + 3 * at, 13 + 3 * at)];
  return Uint8Array.from([0xff, frame[1]!, 0, 11, ...size, 1, ...own]);
}

function scanOfOne(scans: Uint8Array, at: number): Uint8Array {
  return Uint8Array.from([0xff, MARKER.scan, 0, 8, 1, ...scans.subarray(5 + 2 * at, 7 + 2 * at), 0, 63, 0]);
}

interface BitReader {
  /** The next 16 bits, filled up with zeros. */
  peek(): number;
  /** Copies bits, of which there are at most 16. */
  copy(bits: number, to: BitWriter): void;
  /** Passes a restart marker, which is returned. */
  restart(): number;
}

/** Reads bits of a scan. After a byte of ones, a zero byte says that it is no marker. */
function bitReader(bytes: Uint8Array, start: number, faults: CodecFaults): BitReader {
  let [at, held, count] = [start, 0, 0];
  const isMarker = (): boolean => at >= bytes.length || (bytes[at] === 0xff && bytes[at + 1] !== 0);
  const fill = (): void => {
    while (count < 16 && !isMarker()) {
      held = ((held << 8) | bytes[at]!) & 0xffffff;
      at += bytes[at] === 0xff ? 2 : 1;
      count += 8;
    }
  };
  return {
    peek() {
      fill();
      return (count < 16 ? held << (16 - count) : held >>> (count - 16)) & 0xffff;
    },
    copy(bits, to) {
      fill();
      if (count < bits) throw faults.damaged('data that end too early');
      count -= bits;
      to.add((held >>> count) & (2 ** bits - 1), bits);
    },
    restart() {
      [held, count] = [0, 0];
      const marker = bytes[at + 1] ?? 0;
      if (bytes[at] !== 0xff || marker < MARKER.restart || marker > MARKER.restart + 7)
        throw faults.damaged('no restart where one should be');
      at += 2;
      return marker;
    },
  };
}

interface BitWriter {
  add(value: number, bits: number): void;
  restart(marker: number): void;
  /** The bytes, of which the last is filled up with ones. */
  end(): Uint8Array;
}

/** Writes bits of a scan, whose bytes are no more than those of a scan of `length` bytes with zeros between all of them. */
function bitWriter(length: number): BitWriter {
  const bytes = new Uint8Array(2 * length + 2);
  let [at, held, count] = [0, 0, 0];
  const put = (byte: number): void => {
    bytes[at++] = byte;
    if (byte === 0xff) bytes[at++] = 0;
  };
  const flush = (): void => {
    if (count > 0) put(((held << (8 - count)) | (2 ** (8 - count) - 1)) & 0xff);
    [held, count] = [0, 0];
  };
  return {
    add(value, bits) {
      held = ((held << bits) | value) & 0xffffff;
      count += bits;
      while (count >= 8) {
        count -= 8;
        put((held >>> count) & 0xff);
      }
    },
    restart(marker) {
      flush();
      bytes[at++] = 0xff;
      bytes[at++] = marker;
    },
    end() {
      flush();
      return bytes.subarray(0, at);
    },
  };
}
