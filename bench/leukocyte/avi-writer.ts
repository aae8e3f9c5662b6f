import { open } from 'node:fs/promises';

/** Size and rate of all frames of an AVI file. */
export interface AviFormat {
  readonly width: number;
  readonly height: number;
  /** Frames per second; precise to a thousandth. */
  readonly frameRate: number;
}

const MAX_BYTES = 2 ** 31;

/**
 * Writes frames of grey bytes (rows from top to bottom) as an uncompressed 8-bit AVI with a grey palette and an index.
 * Video players, ImageJ and Rodinia's leukocyte program can read this format.
 *
 * @throws RangeError if the file would exceed 2 GiB; larger files need an extension of the format.
 */
export async function writeAvi(path: string, format: AviFormat, frames: Iterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'w');
  try {
    const stride = (format.width + 3) & ~3;
    const chunk = new Uint8Array(8 + stride * format.height);
    let count = 0;
    await file.write(aviHead(format, 0));
    for (const grey of frames) {
      if (HEAD_BYTES + (count + 1) * (chunk.length + 16) > MAX_BYTES) {
        throw new RangeError(`After ${count} frames, the file would be larger than 2 GiB: write fewer.`);
      }
      fillChunk(chunk, grey, format, stride);
      await file.write(chunk);
      count++;
    }
    await file.write(aviIndex(count, chunk.length));
    await file.write(aviHead(format, count), 0, null, 0);
  } finally {
    await file.close();
  }
}

const HEAD_BYTES = 12 + 8 + 4 + 64 + 8 + 4 + 64 + 8 + 40 + 1024 + 12;

/** All bytes of the file before the first frame. */
function aviHead({ width, height, frameRate }: AviFormat, count: number): Uint8Array {
  const frameBytes = ((width + 3) & ~3) * height;
  const listBytes = 4 + count * (frameBytes + 8);
  const head = new ByteWriter(HEAD_BYTES);
  head.text('RIFF').u32(HEAD_BYTES - 8 - 4 + listBytes + 8 + 16 * count);
  head.text('AVI LIST').u32(HEAD_BYTES - 12 - 8 - 12);
  head.text('hdrlavih').u32(56, Math.round(1e6 / frameRate), Math.round(frameBytes * frameRate), 0, 0x10);
  head.u32(count, 0, 1, frameBytes, width, height, 0, 0, 0, 0);
  head.text('LIST').u32(4 + 64 + 8 + 40 + 1024);
  head
    .text('strlstrh')
    .u32(56)
    .text('vidsDIB ')
    .u32(0, 0, 0, 1000, Math.round(1000 * frameRate));
  head.u32(0, count, frameBytes, 0xffff_ffff, 0).u16(0, 0, width, height);
  head
    .text('strf')
    .u32(40 + 1024, 40, width, height)
    .u16(1, 8)
    .u32(0, frameBytes);
  head.u32(0, 0, 256, 0);
  for (let grey = 0; grey < 256; grey++) head.u32(grey * 0x010101);
  head.text('LIST').u32(listBytes).text('movi');
  return head.bytes;
}

/** Fills the chunk of one frame. AVI stores rows from bottom to top, each padded to a multiple of four bytes. */
function fillChunk(chunk: Uint8Array, grey: Uint8Array, { width, height }: AviFormat, stride: number): void {
  if (grey.length !== width * height) throw new RangeError(`A frame has ${grey.length} values, not ${width * height}.`);
  const head = new ByteWriter(8).text('00db').u32(stride * height);
  chunk.set(head.bytes);
  for (let row = 0; row < height; row++) {
    chunk.set(grey.subarray(row * width, (row + 1) * width), 8 + (height - 1 - row) * stride);
  }
}

function aviIndex(count: number, chunkBytes: number): Uint8Array {
  const index = new ByteWriter(8 + 16 * count).text('idx1').u32(16 * count);
  for (let frame = 0; frame < count; frame++) {
    index.text('00db').u32(0x10, 4 + frame * chunkBytes, chunkBytes - 8);
  }
  return index.bytes;
}

/** A buffer to which little-endian numbers are appended. */
class ByteWriter {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(length: number) {
    this.bytes = new Uint8Array(length);
    this.#view = new DataView(this.bytes.buffer);
  }

  text(text: string): this {
    for (const letter of text) this.bytes[this.#at++] = letter.charCodeAt(0);
    return this;
  }

  u16(...values: readonly number[]): this {
    for (const value of values) {
      this.#view.setUint16(this.#at, value, true);
      this.#at += 2;
    }
    return this;
  }

  u32(...values: readonly number[]): this {
    for (const value of values) {
      this.#view.setUint32(this.#at, value >>> 0, true);
      this.#at += 4;
    }
    return this;
  }
}
