import { writeFile } from 'node:fs/promises';
import { programOptions } from '../shared/program-options.ts';
import { bySize, packParts, readParts } from './map-polygons.ts';

/**
 * Packs the polygons of a GeoJSON map into a small file, for machines that cannot download the map. The benchmarks read
 * GeoJSON and such packed files. `--vertices 10,100` packs only polygons with at least 10 and fewer than 100 vertices.
 *
 * node --max-old-space-size=6144 --import tsx bench/quadtree/pack-map.ts --polygons map.geo.json --out map.polygons.gz
 *   [--vertices 10,100]
 */
const options = programOptions({ polygons: undefined, out: undefined, vertices: [0, Infinity] });
if (options.polygons === undefined || options.out === undefined) {
  throw new Error('Name the polygons and the file to write: --polygons map.geo.json --out map.polygons.gz');
}
const [from, to] = options.vertices;
const parts = bySize(await readParts(options.polygons), from!, to!);
await writeFile(options.out, packParts(parts));
console.log(`${parts.polygonRings.length - 1} polygons with ${parts.x.length} vertices`);
