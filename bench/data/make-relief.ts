import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { expandPatterns } from '../../formats/bytes/file-patterns.ts';
import { programOptions } from '../shared/program-options.ts';
import type { PartitionMade, PartitionSetup, PartitionTask } from './partition-worker.ts';
import { readReliefs } from './relief-copies.ts';
import { partitionsOf } from './table-1.ts';

/**
 * Makes six rasters of relief with the sizes and partitions of Zhang and Wang, 2014: 20.17 billion cells in 36 packed
 * rasters, one for each partition. They show copies of GeoTIFFs of i16 at native sampling, each turned,
 * flipped and moved; cells outside the nation of `us-atlas` have no data. Cells are made and encoded in rows of tiles, so
 * memory holds only one of these for each thread. The same seed and reliefs give the same bytes.
 *
 * node --import tsx bench/data/make-relief.ts --relief 'FOLDER/srtm-*.tif' --out FOLDER [--scale 1/100] [--seed 1] [--threads N]
 *   [--partitions 1-01,4-02] [--geotiff]
 *
 * `--scale` makes fewer, larger cells of the same extents. `--geotiff` writes GeoTIFFs (DEFLATE, predictor 2, tiles of 256
 * × 256) in place of packed rasters, for comparisons. Prints the SHA-256 of each file, and of all hashes together.
 */
const options = programOptions({
  ...{ relief: undefined, out: undefined, scale: '1', seed: 1, threads: availableParallelism() },
  ...{ partitions: undefined, geotiff: false },
});
if (options.relief === undefined || options.out === undefined) throw new Error('Give --relief FILES and --out FOLDER.');

const started = performance.now();
const [part, whole = '1'] = options.scale.split('/');
const names = options.partitions?.split(',');
const partitions = partitionsOf(Number(part) / Number(whole)).filter(({ name }) => names?.includes(name) ?? true);
const reliefs = await readReliefs(await expandPatterns([options.relief], '--relief'));
await mkdir(options.out, { recursive: true });
const nation = fileURLToPath(new URL('../../node_modules/us-atlas/nation-10m.json', import.meta.url));
const setup: PartitionSetup = { reliefs, nation, seed: options.seed };
const ending = options.geotiff ? 'tif' : 'qbp';

// The largest come first, so that threads end at nearly the same time.
const tasks = partitions
  .map(
    (partition): PartitionTask => ({
      partition,
      path: join(options.out!, `relief-${partition.name}.${ending}`),
      isGeoTiff: options.geotiff,
    }),
  )
  .sort((a, b) => b.partition.width * b.partition.height - a.partition.width * a.partition.height);
const made: PartitionMade[] = [];
const threads = Math.min(options.threads, tasks.length);
await Promise.all(Array.from({ length: threads }, work));

made.sort((a, b) => (a.name < b.name ? -1 : 1));
for (const { path, bytes, inside, sha256 } of made)
  console.log(`${sha256}  ${path}  ${bytes} bytes, ${inside} cells inside`);
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
const cells = sum(partitions.map(({ width, height }) => width * height));
const seconds = (performance.now() - started) / 1000;
console.log(`${reliefs.map(({ file }) => file).join(', ')}; seed ${options.seed}, scale ${options.scale}`);
console.log(
  `${made.length} files, ${cells} cells, ${sum(made.map(({ inside }) => inside))} inside, ` +
    `${sum(made.map(({ bytes }) => bytes))} bytes, ${seconds.toFixed(1)} s on ${threads} threads`,
);
const hashes = made.map(({ sha256 }) => sha256).join('\n');
console.log(`SHA-256 of all hashes: ${createHash('sha256').update(hashes).digest('hex')}`);

/** Runs a thread that makes one partition after the other. */
async function work(): Promise<void> {
  const worker = new Worker(new URL('./partition-worker-boot.mjs', import.meta.url), { workerData: setup });
  const failed = new Promise<never>((_, reject) => worker.once('error', reject));
  for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) {
    worker.postMessage(task);
    const done = new Promise<PartitionMade>((resolve) => worker.once('message', resolve));
    made.push(await Promise.race([done, failed]));
  }
  await worker.terminate();
}
