import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { GridPolygons } from '../../algorithms/pixelbox/grid-polygons.ts';
import { type GeosModule, geosPolygon, openGeosModule } from '../peers/geos-areas.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';

const run = promisify(execFile);

/** The pairs of polygons to measure. The first ring of a polygon is its outline; the others are holes. */
export interface GeosJob {
  readonly first: GridPolygons;
  readonly second: GridPolygons;
  readonly pairs: { readonly p: Uint32Array; readonly q: Uint32Array };
}

/** Areas by GEOS on one thread; −1 where GEOS failed. `areaSeconds` is the processor time from geometries to areas. */
export interface GeosAnswer {
  readonly version: string;
  readonly intersection: Float64Array;
  readonly p: Float64Array;
  readonly q: Float64Array;
  /** Processor time to make the geometries from coordinates. This time is not part of `areaSeconds`. */
  readonly makeSeconds: number;
  readonly areaSeconds: number;
}

/**
 * Areas by the system's GEOS on one thread, through the program of `bench/polygons/polygon-geos.c`.
 *
 * Needs gcc and Debian's libgeos-dev.
 */
export async function nativeGeosAreas(job: GeosJob): Promise<GeosAnswer> {
  await using scratch = await temporaryFolder('polygon-geos-');
  const folder = scratch.path;
  const [program, input, output] = ['polygon-geos', 'pairs.bin', 'areas.bin'].map((name) => join(folder, name));
  const source = fileURLToPath(new URL('polygon-geos.c', import.meta.url));
  await run('gcc', ['-O3', '-march=native', '-o', program!, source, '-lgeos_c']);
  await writeFile(input!, jobBytes(job));
  const { version, make, areas } = JSON.parse((await run(program!, [input!, output!])).stdout);
  const found = new Float64Array(Uint8Array.from(await readFile(output!)).buffer);
  return { version, ...thirdsOf(found), makeSeconds: make, areaSeconds: areas };
}

function jobBytes({ first, second, pairs }: GeosJob): Uint8Array {
  const counts = ({ polygonRings, ringVertices, x }: GridPolygons) => [
    polygonRings.length - 1,
    ringVertices.length - 1,
    x.length,
  ];
  const header = Uint32Array.of(...counts(first), ...counts(second), pairs.p.length);
  const sides = [first, second].flatMap(({ polygonRings, ringVertices, x, y }) => [polygonRings, ringVertices, x, y]);
  return Buffer.concat(
    [header, ...sides, pairs.p, pairs.q].map(
      ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
    ),
  );
}

/** Areas by geos-wasm, on this thread. */
export async function wasmGeosAreas({ first, second, pairs }: GeosJob): Promise<GeosAnswer> {
  const { geos } = await openGeosModule();
  const began = process.cpuUsage();
  const [a, b] = [makeGeometries(geos, first), makeGeometries(geos, second)];
  const making = process.cpuUsage(began);
  const made = process.cpuUsage();
  const found = new Float64Array(3 * pairs.p.length);
  const { intersection, p, q } = thirdsOf(found);
  const into = geos.Module._malloc(8);
  for (let pair = 0; pair < pairs.p.length; pair++) {
    const [i, j] = [a[pairs.p[pair]!]!, b[pairs.q[pair]!]!];
    const both = geos.GEOSIntersection(i, j);
    intersection[pair] = areaOf(geos, both, into);
    p[pair] = areaOf(geos, i, into);
    q[pair] = areaOf(geos, j, into);
    geos.GEOSGeom_destroy(both);
  }
  const working = process.cpuUsage(made);
  for (const geometry of [...a, ...b]) geos.GEOSGeom_destroy(geometry);
  const seconds = { makeSeconds: secondsOf(making), areaSeconds: secondsOf(working) };
  return { version: `${geos.GEOSversion()} in WebAssembly`, intersection, p, q, ...seconds };
}

/** Processor time in seconds, of user and system together. */
export function secondsOf({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1e6;
}

/** Splits a column into thirds: the areas of the intersections, of p and of q. */
function thirdsOf(areas: Float64Array): Pick<GeosAnswer, 'intersection' | 'p' | 'q'> {
  const pairs = areas.length / 3;
  return { intersection: areas.subarray(0, pairs), p: areas.subarray(pairs, 2 * pairs), q: areas.subarray(2 * pairs) };
}

function areaOf(geos: GeosModule, geometry: number, into: number): number {
  return geometry !== 0 && geos.GEOSArea(geometry, into) === 1 ? geos.Module.HEAPF64[into / 8]! : -1;
}

function makeGeometries(geos: GeosModule, polygons: GridPolygons): number[] {
  return Array.from({ length: polygons.polygonRings.length - 1 }, (_, i) => geosPolygon(geos, polygons, i));
}
