import { cpus, loadavg } from 'node:os';
import type { GridPolygons } from '../../algorithms/pixelbox/grid-polygons.ts';
import { programOptions } from '../shared/program-options.ts';
import { startCluster } from './compare-postgis-cluster.ts';
import { polygonPairs } from './polygon-pairs.ts';
import { scanlineAreas } from './polygon-scanline.ts';

/**
 * The cross-comparison of two result sets by PostGIS, as pathologists would run it. Both sets are in tables with a GiST
 * index over their boxes. The query is the optimized one of Wang et al. 2012, section 2: `&&` finds pairs whose boxes
 * intersect, ST_Area(ST_Intersection) gives ‖p ∩ q‖, the area of the union is ‖p‖ + ‖q‖ − ‖p ∩ q‖, and the result is
 * the mean of the positive ratios.
 *
 * The setup favours PostGIS: only index building and the query count, both indexes are built concurrently, the query
 * has one worker per processor, ST_Intersection is called once per pair, nothing is synced to disk, and the tables fit
 * in PostgreSQL's buffers. ST_Intersection needs valid polygons, but outlines that touch themselves are invalid. So
 * ST_MakeValid repairs such polygons first; the time of this repair is printed but does not count. `--valid keep` skips
 * the repair.
 *
 * Needs Debian's postgresql-15-postgis-3. If this program runs as root, the server runs as `--user`, postgres by
 * default.
 *
 * node --import tsx bench/polygons/compare-postgis.ts [--pairs 61961] [--rounds 3] [--workers 2] [--valid make|keep]
 * [--user postgres] [--bin /usr/lib/postgresql/15/bin]
 */
const options = programOptions({
  ...{ pairs: 61961, rounds: 3, workers: cpus().length, valid: 'make', user: 'postgres' },
  bin: '/usr/lib/postgresql/15/bin',
});

const TABLES = ['a', 'b'];

/**
 * The ratio i ÷ (p + q − i) of the areas is written as 1 ÷ ((p + q) ÷ i − 1), where the expensive intersection i occurs
 * only once. If i is 0, the ratio becomes null, which the mean ignores.
 */
const QUERY = `
  SELECT avg(1 / ((ST_Area(a.geom) + ST_Area(b.geom)) / nullif(ST_Area(ST_Intersection(a.geom, b.geom)), 0) - 1)), count(*)
  FROM a, b WHERE a.geom && b.geom`;

const workload = { pairs: options.pairs };
await using cluster = await startCluster(options);
console.log(`machine  ${cpus().length} × ${cpus()[0]!.model}, load ${loadavg()[0]!.toFixed(1)}`);
console.log(`server   ${await cluster.sql('SELECT version(); SELECT postgis_full_version()')}`);
for (const table of TABLES) await cluster.sql(`CREATE UNLOGGED TABLE ${table} (id serial, geom geometry)`);
await timed('load', async () => {
  await cluster.copy('a (geom)', lines('first'));
  await cluster.copy('b (geom)', lines('second'));
});
if (options.valid === 'make') await timed('valid', () => onBoth(makeValid));
await timed('index', () => onBoth((table) => `CREATE INDEX ON ${table} USING gist (geom)`));
await timed('analyze', () => onBoth((table) => `VACUUM ANALYZE ${table}`));
console.log(await cluster.sql(`EXPLAIN (COSTS OFF) ${QUERY}`));
console.log(`expected ${expectedAnswer()}`);
for (let round = 0; round < options.rounds; round++)
  console.log(`found    ${await timed('query', () => cluster.sql(QUERY))}`);

async function* lines(side: 'first' | 'second'): AsyncGenerator<Uint8Array> {
  for (const tile of polygonPairs(workload)) yield new TextEncoder().encode(polygonTexts(tile[side]));
}

/** The polygons as WKT, one per line. The first ring of each is its outline; the others are holes. */
function polygonTexts({ polygonRings, ringVertices, x, y }: GridPolygons): string {
  const ring = (r: number): string => {
    let text = '(';
    for (let v = ringVertices[r]!; v < ringVertices[r + 1]!; v++) text += `${x[v]} ${y[v]},`;
    return `${text}${x[ringVertices[r]!]} ${y[ringVertices[r]!]})`;
  };
  const polygon = (i: number): string => {
    const rings = Array.from({ length: polygonRings[i + 1]! - polygonRings[i]! }, (_, r) => ring(polygonRings[i]! + r));
    return `POLYGON(${rings.join()})\n`;
  };
  return Array.from({ length: polygonRings.length - 1 }, (_, i) => polygon(i)).join('');
}

/**
 * SQL that replaces a table by a copy with valid polygons. PostgreSQL makes such a copy on several processors, but runs
 * an UPDATE on only one.
 */
function makeValid(table: string): string {
  return `
    CREATE UNLOGGED TABLE valid_${table} AS SELECT id, ST_MakeValid(geom) AS geom FROM ${table};
    DROP TABLE ${table};
    ALTER TABLE valid_${table} RENAME TO ${table};`;
}

function onBoth(statement: (table: string) => string): Promise<string[]> {
  return Promise.all(TABLES.map((table) => cluster.sql(statement(table))));
}

/**
 * Computes the expected mean ratio and number of pairs with the scanline program `bench/polygons/polygon-scanline.ts`.
 */
function expectedAnswer(): string {
  let [sum, meeting, pairs] = [0, 0, 0];
  for (const tile of polygonPairs(workload)) {
    const { intersection, p, q } = scanlineAreas(tile.first, tile.second, tile.pairs);
    pairs += intersection.length;
    intersection.forEach((area, i) => {
      if (area === 0) return;
      sum += area / (p[i]! + q[i]! - area);
      meeting++;
    });
  }
  return `${sum / meeting}|${pairs}`;
}

/** Runs some work, and prints its duration and the processor time that the server spent on it. */
async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const processor = await cluster.processorSeconds();
  const began = performance.now();
  const result = await work();
  const seconds = ((performance.now() - began) / 1000).toFixed(2);
  console.log(
    `${what.padEnd(8)} ${seconds} s, processors ${((await cluster.processorSeconds()) - processor).toFixed(2)} s`,
  );
  return result;
}
