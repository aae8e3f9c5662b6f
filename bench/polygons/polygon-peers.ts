import { cpus, loadavg } from 'node:os';
import { programOptions } from '../shared/program-options.ts';
import { type GeosAnswer, nativeGeosAreas, secondsOf, wasmGeosAreas } from './polygon-geos.ts';
import { type PolygonPairTile, polygonPairs } from './polygon-pairs.ts';
import { type ScanlineAreas, scanlineAreas } from './polygon-scanline.ts';

/**
 * Times the peers for areas of polygon pairs, each on one thread: an optimized scanline, the system's GEOS, and
 * geos-wasm. All areas are compared with each other. Seconds are processor time, because the machine may be shared.
 *
 * node --import tsx bench/polygons/polygon-peers.ts [--pairs 20000] [--scale 1] [--rounds 15] [--peers scanline,geos,geos-wasm]
 */
const options = programOptions({ pairs: 20000, scale: 1, rounds: 15, peers: 'scanline,geos,geos-wasm' });

const { pairs } = options;
const peers = options.peers.split(',');
const tiles = [...polygonPairs({ pairs, tiles: Math.ceil(pairs / 1500), scale: options.scale })];
const expected = tiles.map(scanline);

console.log(
  `machine    ${cpus().length} × ${cpus()[0]!.model}, Node ${process.version}, load ${loadavg()[0]!.toFixed(1)}`,
);
console.log(`workload   ${pairs} pairs in ${tiles.length} tiles, scale ${options.scale}`);
if (peers.includes('scanline')) timeScanline();
if (peers.includes('geos')) await timeGeos(nativeGeosAreas);
if (peers.includes('geos-wasm')) await timeGeos(wasmGeosAreas);

function scanline({ first, second, pairs }: PolygonPairTile): ScanlineAreas {
  return scanlineAreas(first, second, pairs);
}

function timeScanline(): void {
  const times = Array.from({ length: options.rounds }, () => {
    const began = process.cpuUsage();
    for (const tile of tiles) scanline(tile);
    return secondsOf(process.cpuUsage(began));
  }).sort((a, b) => a - b);
  const median = times[times.length >> 1]!;
  console.log(`scanline   ${rate(median)}, at best ${rate(times[0]!)}`);
}

async function timeGeos(areas: (tile: PolygonPairTile) => Promise<GeosAnswer>): Promise<void> {
  let [version, makeSeconds, areaSeconds, wrong, failed] = ['', 0, 0, 0, 0];
  for (const [i, tile] of tiles.entries()) {
    const answer = await areas(tile);
    version = answer.version;
    makeSeconds += answer.makeSeconds;
    areaSeconds += answer.areaSeconds;
    answer.intersection.forEach((area, pair) => {
      const { intersection, p, q } = expected[i]!;
      if (area < 0) failed++;
      else if (area !== intersection[pair] || answer.p[pair] !== p[pair] || answer.q[pair] !== q[pair]) wrong++;
    });
  }
  console.log(
    `GEOS       ${rate(areaSeconds)}, ${rate(areaSeconds + makeSeconds)} with geometries made; ${wrong} differ, ${failed} failed; ${version}`,
  );
}

function rate(seconds: number): string {
  return `${Math.round(pairs / seconds).toLocaleString('en')} pairs/s`;
}
