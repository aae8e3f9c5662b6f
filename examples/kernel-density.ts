// Draws where events on the Earth are dense: the sum of Gaussian kernels of great-circle distance, for each cell of a map.
//
//     node --import tsx examples/kernel-density.ts
//
// The events are made: each is a normal distance from one of three places. `crossReduce` sums over all pairs of a cell
// and an event; `sin`, `cos`, `asin` and `exp` have the same bits on every backend. The picture is density.png.
import { writeFile } from 'node:fs/promises';
import { encode } from 'fast-png';
import {
  asin,
  cos,
  crossReduce,
  exp,
  f32,
  fn,
  map,
  open,
  plus,
  randomNormal,
  sequence,
  sin,
  sqrt,
  u32,
} from 'quadrille';

const [WIDTH, HEIGHT, EVENTS, KERNEL] = [240, 120, 900, 0.06];
const RADIANS = Math.PI / 180;

const centre = fn('centre', { cell: u32 }, { lon: f32, lat: f32 }, ({ cell }) => ({
  lon: f32(cell.rem(WIDTH)).mul(1.5).sub(179.25).mul(RADIANS),
  lat: f32(89.25)
    .sub(f32(cell.div(WIDTH)).mul(1.5))
    .mul(RADIANS),
}));

const event = fn('event', { i: u32, east: f32, north: f32 }, { elon: f32, elat: f32 }, ({ i, east, north }) => ({
  elon: f32(i.rem(3)).mul(115).sub(70).add(east.mul(15)).mul(RADIANS),
  elat: f32(i.rem(3)).mul(-30).add(40).add(north.mul(8)).mul(RADIANS),
}));

const kernel = fn('kernel', { lon: f32, lat: f32, elon: f32, elat: f32 }, f32, ({ lon, lat, elon, elat }) => {
  const [up, along] = [sin(elat.sub(lat).mul(0.5)), sin(elon.sub(lon).mul(0.5))];
  const haversine = up.mul(up).add(cos(lat).mul(cos(elat)).mul(along.mul(along)));
  const distance = asin(sqrt(haversine.min(1))).mul(2 / KERNEL);
  return exp(distance.mul(distance).mul(-0.5));
});

await using context = await open();
const cells = context.materialize(map(centre, { cell: sequence(WIDTH * HEIGHT) }));
const [east, north] = [randomNormal(EVENTS, { seed: 1 }), randomNormal(EVENTS, { seed: 1, stream: 1 })];
const events = context.materialize(map(event, { i: sequence(EVENTS), east, north }));
const density = await context.read(crossReduce(cells, events, kernel, plus(f32)));
const peak = density.reduce((a, b) => Math.max(a, b));
const data = Uint8Array.from(density, (value) => 255 - Math.round((255 * value) / peak));
await writeFile('density.png', encode({ width: WIDTH, height: HEIGHT, data, channels: 1 }));
const at = density.indexOf(peak);
const [lon, lat] = [(at % WIDTH) * 1.5 - 179.25, 89.25 - Math.floor(at / WIDTH) * 1.5];
console.log(`The densest cell is at ${lon}, ${lat}, with a density of ${peak.toFixed(3)}.`);

// The densest cell is at -71.25, 42.75, with a density of 35.239.
