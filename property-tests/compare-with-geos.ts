import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { pairAreas } from '../algorithms/pixelbox/pair-areas.ts';
import { regionsOf } from '../algorithms/pixelbox/regions.ts';
import { gridPolygons } from '../algorithms/pixelbox/snap-to-pixels.ts';
import { Geos } from '../bench/peers/geos-areas.ts';
import { open } from '../on-node.ts';
import { pairColumns, rectilinearPair } from './support/arbitrary-rectilinear.ts';

/**
 * Computes the areas of intersections and unions with this library and with GEOS (geos-wasm), and compares them. The
 * operands are random pairs of rectilinear polygons. The pairs include holes, touching corners, shared edges,
 * containment, contact without area, and crossing rings. The program does not stop at a difference; it counts all of
 * them.
 *
 * node --import tsx property-tests/compare-with-geos.ts [--pairs 100000] [--seed 1]
 *   [--backend workers|webgpu|reference] [--adapter hardware|software]
 */
const { values: options } = parseArgs({
  options: {
    pairs: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    backend: { type: 'string', default: 'workers' },
    adapter: { type: 'string' },
  },
});
const BATCH = 2000;
const EXTENTS = [30, 300, 2 ** 26];

const geos = await Geos.open();
const { backend, adapter } = options;
const context = await open({ backend, adapter } as Parameters<typeof open>[0]);
let [differing, done] = [0, 0];
for (let batch = 0; done < Number(options.pairs); batch++) {
  const wanted = Math.min(BATCH, Number(options.pairs) - done);
  const shapes = rectilinearPair({ extent: EXTENTS[batch % EXTENTS.length]! });
  differing += await compare(fc.sample(shapes, { numRuns: wanted, seed: Number(options.seed) + batch }));
  done += wanted;
}
await context.close();
console.log(`machine  ${cpus().length} × ${cpus()[0]!.model}, Node ${process.version}`);
console.log(`pairs    ${done}, seed ${options.seed}, on ${backend}: ${differing} differ from GEOS`);
process.exitCode = differing === 0 ? 0 : 1;

async function compare(pairs: Parameters<typeof pairColumns>[0]): Promise<number> {
  const { first, second } = pairColumns(pairs);
  const each = Uint32Array.from(pairs.keys());
  const [p, q] = [regionsOf(gridPolygons(first)), regionsOf(gridPolygons(second))];
  const found = await pairAreas(context, p, q, { p: each, q: each });
  return pairs.filter((_, i) => {
    const expected = geos.areas(first, i, second, i);
    const union = found.p[i]! + found.q[i]! - found.intersection[i]!;
    return Number(found.intersection[i]) !== expected.intersection || Number(union) !== expected.union;
  }).length;
}
