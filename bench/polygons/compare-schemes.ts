import { crossCompare } from '../../algorithms/cross-compare/cross-compare.ts';
import type { CrossComparison } from '../../algorithms/cross-compare/cross-comparison.ts';
import type { CompareScheme } from '../../algorithms/cross-compare/job.ts';
import { openTileParser } from '../../formats/result-sets/tile-parser.ts';
import { openSetPair, requireSameAnswer } from '../shared/compare-input.ts';
import { inTurns, machine, median, spread } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Table 1 of Wang, Huai, Lee, Wang, Zhang and Saltz, Accelerating Pathology Image Data Cross-Comparison on CPU-GPU
 * Hybrid Systems, 2012: times the cross-comparison of two folders of text files, up to J′ (the mean ratio of
 * intersection to union), with three ways to schedule its steps.
 *
 * - NoPipe-S: each tile takes all four steps (parse on one thread, build, filter, aggregate) before the next tile
 *   starts.
 * - NoPipe-M: as many tiles run concurrently as there are threads, but the device processes one tile at a time.
 * - Pipelined: each step is a stage of a pipeline, and the device receives tiles in batches.
 *
 * As in a database, the files are in the page cache, the backend is open, and the parser's threads are started before
 * anything is timed. The schemes take turns, round by round, after one untimed round. Every run must give the same
 * result.
 *
 * `--postgis SECONDS` is the time that `bench/polygons/compare-postgis.ts` reports for building the indexes and running
 * the query on the same polygons.
 *
 * node --import tsx bench/polygons/polygon-files.ts --out FOLDER
 * node --import tsx bench/polygons/compare-schemes.ts --first FOLDER/first --second FOLDER/second [--backend workers]
 *   [--adapter hardware] [--workers 2] [--rounds 5] [--postgis SECONDS]
 */
const options = programOptions({
  ...{ first: undefined, second: undefined, backend: 'workers', adapter: undefined },
  ...{ workers: undefined, rounds: 5, postgis: undefined },
});
if (options.first === undefined || options.second === undefined) {
  throw new Error('Name the two folders to compare: --first FOLDER --second FOLDER');
}

const SCHEMES = { 'NoPipe-S': 'no-pipe-single', 'NoPipe-M': 'no-pipe-multiple', Pipelined: 'pipelined' } as const;

const workers = options.workers === undefined ? undefined : Number(options.workers);
const { p, q, bytes } = await openSetPair(options.first, options.second);
await using context = await openNamed(options);
console.log(`machine   ${machine()}`);
console.log(`backend   ${context.backend.name}`);

const alone = openTileParser({ workers: 1, pixelSize: 1 });
const together = openTileParser({ workers, pixelSize: 1 });

function run(scheme: CompareScheme): Promise<CrossComparison> {
  const { parse, lanes } = scheme === 'no-pipe-single' ? alone : together;
  return crossCompare(context, { p, q, scheme, parse, parseLanes: lanes }).result;
}

let expected: CrossComparison | undefined;
const runs = Object.fromEntries(Object.entries(SCHEMES).map(([name, scheme]) => [name, () => run(scheme)]));
const times = await inTurns(runs, options, (result, name) => {
  expected ??= result;
  requireSameAnswer(result, expected, name);
});

const { polygons, candidates, pairs, similarity } = expected!;
console.log(
  `input     ${p.tiles.length} tiles, ${polygons.p} + ${polygons.q} polygons, ${(bytes / 1e6).toFixed(1)} MB`,
);
console.log(`found     J′ ${similarity} of ${pairs} pairs, ${candidates} candidates`);
const single = median(times.get('NoPipe-S')!.map(({ wall }) => wall));
for (const [name, took] of times) {
  const wall = took.map((each) => each.wall);
  const seconds = median(wall);
  const words = [
    `${name.padEnd(9)} ${spread(wall)} s`,
    `processors ${spread(took.map(({ processor }) => processor))} s`,
    `${(bytes / 1e6 / seconds).toFixed(0)} MB/s`,
    `${(candidates / 1000 / seconds).toFixed(0)}k pairs/s`,
    `${(single / seconds).toFixed(2)} × NoPipe-S`,
  ];
  if (options.postgis !== undefined) words.push(`${(Number(options.postgis) / seconds).toFixed(1)} × PostGIS`);
  console.log(words.join(', '));
}
await Promise.all([alone.close(), together.close()]);
