import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { decode } from 'fast-png';
import type { LabelGrid } from './label-counts.ts';

const FIXTURES = new URL('../fixtures/result-sets/', import.meta.url);

/** Reads a label image from the fixtures. */
export async function picture(name: string): Promise<LabelGrid> {
  const { width, height, data } = decode(await readFile(new URL(name, FIXTURES)));
  return { width, height, labels: data };
}

/** Reads all axial slices of a label volume of bytes from the fixtures. */
export async function volume(name: string): Promise<LabelGrid[]> {
  const bytes = gunzipSync(await readFile(new URL(name, FIXTURES)));
  const [width, height, slices] = [bytes.readInt16LE(42), bytes.readInt16LE(44), bytes.readInt16LE(46)];
  const start = bytes.readFloatLE(108);
  return Array.from({ length: slices }, (_, z) => {
    const at = start + z * width * height;
    return { width, height, labels: bytes.subarray(at, at + width * height) };
  });
}
