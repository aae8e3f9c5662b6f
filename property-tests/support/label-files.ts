import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { decode } from 'fast-png';
import type { LabelGrid } from './label-counts.ts';

const FIXTURES = new URL('../fixtures/result-sets/', import.meta.url);

/** A label image of the fixtures. */
export async function picture(name: string): Promise<LabelGrid> {
  const { width, height, data } = decode(await readFile(new URL(name, FIXTURES)));
  return { width, height, labels: data };
}

/** The axial slices of a label volume of the fixtures, of bytes. */
export async function volume(name: string): Promise<LabelGrid[]> {
  const bytes = gunzipSync(await readFile(new URL(name, FIXTURES)));
  const [width, height, slices] = [bytes.readInt16LE(42), bytes.readInt16LE(44), bytes.readInt16LE(46)];
  const start = bytes.readFloatLE(108);
  return Array.from({ length: slices }, (_, z) => {
    const at = start + z * width * height;
    return { width, height, labels: bytes.subarray(at, at + width * height) };
  });
}
