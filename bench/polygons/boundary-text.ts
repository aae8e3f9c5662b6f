import { cpus } from 'node:os';
import { parseBoundaryText } from '../../algorithms/boundary-text/index.ts';
import { parseBoundariesOn } from '../../formats/result-sets/boundaries-on-device.ts';
import { parseBoundaries } from '../../formats/result-sets/boundaries-text.ts';
import type { PolygonTile } from '../../formats/result-sets/result-set.ts';
import { inTurns, median } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { boundariesText } from './polygon-files.ts';
import { polygonPairs } from './polygon-pairs.ts';

/**
 * Times the parsing of text files of polygon boundaries, from bytes in memory to columns in memory. The plain reader on
 * one thread and the readers on the backends take turns, and must return equal columns. Processor time of all threads
 * is reported besides wall-clock time, because machines may be shared.
 *
 * - The output line `marks and numbers` is only the device's part of the parsing.
 * - The output line `upload` is only the transfer of the bytes to the device.
 *
 * node --import tsx bench/polygons/boundary-text.ts [--backends workers,webgpu] [--adapter hardware] [--workers 2]
 *   [--polygons 40000] [--decimals 0] [--part BYTES] [--rounds 7]
 */
const options = programOptions({
  ...{ backends: 'workers', adapter: undefined, workers: 2, polygons: 40000, decimals: 0 },
  ...{ part: undefined, rounds: 7 },
});

const text = writeText(options.polygons, options.decimals);
const parts = options.part === undefined ? {} : { partBytes: Number(options.part) };
console.log(`machine  ${cpus().length} × ${cpus()[0]!.model}, Node ${process.version}`);
console.log(`text     ${(text.length / 1e6).toFixed(1)} MB, 1 line in ${options.decimals} with decimals (0: none)`);

const contexts = await Promise.all(
  options.backends.split(',').map(async (backend) => ({ backend, context: await openNamed({ ...options, backend }) })),
);

/**
 * Text of pseudo-random polygons, one per line. If `decimals` is not 0, one in `decimals` lines has a decimal point.
 */
function writeText(polygons: number, decimals: number): Uint8Array {
  const [tile] = [...polygonPairs({ pairs: polygons, tiles: 1 })];
  const bytes = boundariesText(tile!.first);
  if (decimals === 0) return bytes;
  const lines = new TextDecoder().decode(bytes).split('\n');
  const odd = lines.map((line, i) => (i % decimals === 0 && line !== '' ? `${line} 0.5,0` : line));
  return new TextEncoder().encode(odd.join('\n'));
}

type Contestant = readonly [name: string, run: () => Promise<PolygonTile | undefined> | PolygonTile];
const contestants = Object.fromEntries<Contestant[1]>([
  ['one thread', () => parseBoundaries(text, 'text')],
  ...contexts.flatMap(({ backend, context }): Contestant[] => [
    [backend, () => parseBoundariesOn(context, text, 'text', parts)],
    [
      `${backend}: marks and numbers`,
      async () => {
        for await (const part of parseBoundaryText(context, text, parts)) void part;
        return undefined;
      },
    ],
    [
      `${backend}: upload`,
      async () => {
        const column = context.column(text);
        await context.sync();
        context.dispose(column);
        return undefined;
      },
    ],
  ]),
]);

let expected: PolygonTile | undefined;
const times = await inTurns(contestants, { rounds: options.rounds, warmUps: 2 }, (tile) => {
  expected ??= tile;
  if (tile !== undefined) requireSame(tile, expected!);
});
for (const [name, took] of times) {
  const [wall, processor] = (['wall', 'processor'] as const).map((field) =>
    (text.length / 1e6 / median(took.map((each) => each[field]))).toFixed(0),
  );
  console.log(`${name.padEnd(28)} ${wall} MB/s, ${processor} MB/s of processor time`);
}
for (const { context } of contexts) await context.close();

function requireSame(got: PolygonTile, expected: PolygonTile): void {
  const columns = ({ ids, polygons }: PolygonTile): ArrayBufferView[] => [
    ...Object.values(ids),
    ...Object.values(polygons),
  ];
  const bytes = (column: ArrayBufferView): Buffer => Buffer.from(column.buffer, column.byteOffset, column.byteLength);
  const others = columns(expected);
  for (const [i, column] of columns(got).entries()) {
    if (!bytes(column).equals(bytes(others[i]!))) throw new Error(`column ${i} differs`);
  }
  if (JSON.stringify(got.notes) !== JSON.stringify(expected.notes)) throw new Error('notes differ');
}
