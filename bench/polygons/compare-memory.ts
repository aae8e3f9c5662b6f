import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { crossCompare } from '../../algorithms/cross-compare/cross-compare.ts';
import { openResultSet } from '../../formats/result-sets/open-result-set.ts';
import { openTileParser } from '../../formats/result-sets/tile-parser.ts';
import { machine, median } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { boundariesText } from './polygon-files.ts';
import { polygonPairs } from './polygon-pairs.ts';

/**
 * Prints the resident memory during the cross-comparison of two folders with many tiles. The memory is sampled during
 * several runs in one process.
 *
 * - `first quarter` and `last quarter` are the medians of the samples in these parts of a run; they would differ if
 *   memory grew with the number of tiles. `heap` and `buffers` are the bytes that JavaScript still holds after a run;
 *   with `--expose-gc`, garbage is collected first.
 * - Resident memory includes freed memory that the system's allocator keeps. To see how much memory the allocator
 *   keeps, compare a run with `MALLOC_ARENA_MAX=2`.
 *
 * By default, `bench/polygons/polygon-pairs.ts` generates 64 tiles with few pairs each, which are repeated under
 * different names. With `--first` and `--second`, tiles come from existing folders.
 *
 * node --expose-gc --import tsx bench/polygons/compare-memory.ts [--tiles 10000] [--pairs 200] [--runs 3] [--backend workers]
 *   [--adapter hardware] [--workers 2] [--context kept|reopened] [--first FOLDER --second FOLDER]
 */
const options = programOptions({
  ...{ tiles: 10000, pairs: 200, runs: 3, backend: 'workers', adapter: undefined },
  ...{ workers: availableParallelism(), context: 'kept', first: undefined, second: undefined },
});
const { workers } = options;
const SAMPLE_MS = 20;
const TEXTS = 64;

await using scratch = await temporaryFolder('quadrille-memory-');
const folder = scratch.path;
console.log(`machine   ${machine()}`);
const { first, second } = options.first === undefined ? await writeTiles() : options;
await runAll(first!, second!);

async function writeTiles(): Promise<{ first: string; second: string }> {
  const folders = { first: join(folder, 'first'), second: join(folder, 'second') };
  await Promise.all(Object.values(folders).map((each) => mkdir(each)));
  const texts = [...polygonPairs({ pairs: TEXTS * options.pairs, tiles: TEXTS })].map(({ first, second }) => ({
    first: boundariesText(first),
    second: boundariesText(second),
  }));
  for (let tile = 0; tile < options.tiles; tile++) {
    const text = texts[tile % texts.length]!;
    for (const side of ['first', 'second'] as const) await writeFile(join(folders[side], `${tile}.txt`), text[side]);
  }
  return folders;
}

async function runAll(first: string, second: string): Promise<void> {
  let context = await openNamed(options);
  for (let run = 1; run <= options.runs; run++) {
    if (options.context === 'reopened' && run > 1) {
      await context.close();
      context = await openNamed(options);
    }
    const [p, q] = await Promise.all([openResultSet(first), openResultSet(second)]);
    const parser = openTileParser({ workers, pixelSize: 1 });
    const samples: number[] = [];
    const timer = setInterval(() => samples.push(process.memoryUsage.rss()), SAMPLE_MS);
    const began = performance.now();
    const job = { p, q, parse: parser.parse, parseLanes: parser.lanes };
    const { tiles, similarity } = await crossCompare(context, job).result;
    const seconds = (performance.now() - began) / 1000;
    clearInterval(timer);
    await parser.close();
    report(`run ${run}`.padEnd(9), samples, `${tiles} tiles in ${seconds.toFixed(1)} s, J′ ${similarity}`);
  }
  await context.close();
}

function report(name: string, samples: readonly number[], found: string): void {
  const quarter = Math.max(1, samples.length >> 2);
  const [early, late] = [median(samples.slice(0, quarter)), median(samples.slice(-quarter))];
  globalThis.gc?.();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  const words = [
    `peak ${megabytes(samples.reduce((max, sample) => Math.max(max, sample), 0))}`,
    `first quarter ${megabytes(early)}, last quarter ${megabytes(late)}: ${megabytes(late - early)} more`,
    `after the run ${megabytes(rss)}, heap ${megabytes(heapUsed)}, buffers ${megabytes(arrayBuffers)}`,
    found,
  ];
  console.log(`${name} ${words.join('; ')}`);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
