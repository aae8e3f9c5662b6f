import { readZones, reprojectZones } from '../../formats/index.ts';
import { inTurns, machine, spread } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Measures what bringing zones to another coordinate system costs: the US counties, from longitudes and latitudes to maps
 * with cells of 30 m.
 *
 * node --import tsx bench/zonal/zonal-reprojection.ts [--codes 5070,32615,3857] [--cell 30] [--rounds 5]
 */
const options = programOptions({ codes: [5070, 32615, 3857], cell: 30, rounds: 5 });

const read = await readZones('node_modules/us-atlas/counties-10m.json', { layer: 'counties' });
const to = (code: number) => ({ crs: `EPSG:${code}`, stepX: options.cell, stepY: -options.cell });
const vertices = new Map<string, number>();
const works: Record<string, () => Promise<unknown>> = {};
for (const code of options.codes) {
  works[`EPSG:${code}`] = async () => {
    const { zones } = await reprojectZones(read, to(code));
    vertices.set(`EPSG:${code}`, zones.polygons.x.length);
  };
}
console.log(`machine  ${machine()}`);
console.log(`zones    ${read.zones.names.length}, of ${read.zones.polygons.x.length} vertices\n`);
console.log('| to | vertices | processor time, s: median (range) |');
console.log('| --- | --- | --- |');
for (const [name, took] of await inTurns(works, { rounds: options.rounds }))
  console.log(`| ${name} | ${vertices.get(name)} | ${spread(took.map((each) => each.processor))} |`);
