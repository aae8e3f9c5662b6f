import { crc32 } from 'node:zlib';
import { deflateBytes } from '../bytes/deflate.ts';

/**
 * An image with 8 bits per channel, row by row from the top: one byte per pixel for grey, or three for red, green and
 * blue.
 */
export interface PngPixels {
  readonly width: number;
  readonly height: number;
  readonly channels: 1 | 3;
  readonly data: Uint8Array;
}

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
/** PNG filter that stores each byte as its difference to the pixel on the left. */
const FILTER_SUB = 1;
/** Compression level. Higher levels hardly reduce the size of noisy images, but take several times as long. */
const LEVEL = 3;

/** Encodes a PNG on Node's thread pool. */
export async function encodePng({ width, height, channels, data }: PngPixels): Promise<Uint8Array> {
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8);
  header.setUint8(9, channels === 3 ? 2 : 0);
  const packed = await deflateBytes(filtered(data, width * channels, height, channels), { level: LEVEL });
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', new Uint8Array(header.buffer)),
    chunk('IDAT', packed),
    chunk('IEND', new Uint8Array(0)),
  ]);
}

function filtered(data: Uint8Array, rowBytes: number, height: number, step: number): Uint8Array {
  const rows = new Uint8Array((rowBytes + 1) * height);
  for (let row = 0; row < height; row++) {
    const [from, to] = [row * rowBytes, row * (rowBytes + 1)];
    rows[to] = FILTER_SUB;
    for (let i = 0; i < rowBytes; i++) rows[to + 1 + i] = data[from + i]! - (i < step ? 0 : data[from + i - step]!);
  }
  return rows;
}

function chunk(type: string, body: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(12 + body.length);
  bytes.writeUInt32BE(body.length, 0);
  bytes.write(type, 4, 'latin1');
  bytes.set(body, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + body.length)), 8 + body.length);
  return bytes;
}
