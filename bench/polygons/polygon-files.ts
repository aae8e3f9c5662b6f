import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { GridPolygons } from '../../algorithms/pixelbox/grid-polygons.ts';
import { programOptions } from '../shared/program-options.ts';
import { type PairWorkload, polygonPairs } from './polygon-pairs.ts';

/** What was written. */
export interface WrittenFiles {
  readonly tiles: number;
  readonly first: number;
  readonly second: number;
  readonly pairs: number;
  readonly bytes: number;
}

/**
 * Writes the tiles of a workload as text files, one per tile and segmentation, into the subfolders `first` and
 * `second`.
 */
export async function writePolygonFiles(folder: string, workload: PairWorkload = {}): Promise<WrittenFiles> {
  const written = { tiles: 0, first: 0, second: 0, pairs: 0, bytes: 0 };
  for (const side of ['first', 'second']) await mkdir(join(folder, side), { recursive: true });
  for (const tile of polygonPairs(workload)) {
    for (const side of ['first', 'second'] as const) {
      const text = boundariesText(tile[side], written[side]);
      await writeFile(join(folder, side, `${tile.name}.txt`), text);
      written[side] += tile[side].polygonRings.length - 1;
      written.bytes += text.length;
    }
    written.tiles++;
    written.pairs += tile.pairs.p.length;
  }
  return written;
}

/** Maximum length of a vertex's text in bytes: two signed numbers, a blank, a comma, and a ring separator. */
const VERTEX_BYTES = 26;

/** The polygons as text, one line `id x,y x,y …` per polygon. ` ;` separates rings; ids are numbered from `firstId`. */
export function boundariesText({ polygonRings, ringVertices, x, y }: GridPolygons, firstId = 0): Uint8Array {
  const bytes = new Uint8Array(x.length * VERTEX_BYTES + polygonRings.length * VERTEX_BYTES);
  let at = 0;
  const put = (text: string): void => {
    for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
  };
  for (let polygon = 0; polygon + 1 < polygonRings.length; polygon++) {
    put(String(firstId + polygon));
    for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
      if (ring > polygonRings[polygon]!) put(' ;');
      for (let vertex = ringVertices[ring]!; vertex < ringVertices[ring + 1]!; vertex++) {
        at = putNumber(bytes, at, BLANK, x[vertex]!);
        at = putNumber(bytes, at, COMMA, y[vertex]!);
      }
    }
    put('\n');
  }
  return bytes.slice(0, at);
}

const [BLANK, COMMA, MINUS, ZERO] = [0x20, 0x2c, 0x2d, 0x30];

/** Writes the byte `mark` and after it a decimal number. Returns the position after the last digit. */
function putNumber(bytes: Uint8Array, start: number, mark: number, value: number): number {
  bytes[start] = mark;
  let at = start + 1;
  if (value < 0) bytes[at++] = MINUS;
  let rest = Math.abs(value);
  let digits = 1;
  for (let limit = 10; limit <= rest; limit *= 10) digits++;
  for (let digit = at + digits - 1; digit >= at; digit--) {
    const tens = Math.floor(rest / 10);
    bytes[digit] = ZERO + rest - 10 * tens;
    rest = tens;
  }
  return at + digits;
}

/**
 * Writes the synthetic polygons of `bench/polygons/polygon-pairs.ts` as text files, in one folder per segmentation.
 *
 * node --import tsx bench/polygons/polygon-files.ts --out FOLDER [--pairs 619609] [--tiles 400] [--scale 1] [--seed 1]
 */
async function main(): Promise<void> {
  const { out, ...workload } = programOptions({ out: undefined, pairs: 619609, tiles: 400, scale: 1, seed: 1 });
  if (out === undefined) throw new Error('Say where to write: --out FOLDER');
  console.log(JSON.stringify(await writePolygonFiles(out, workload)));
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await main();
