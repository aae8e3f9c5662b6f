// Colours a relief by its aspect, the direction in which the ground falls, and shades it by a light in the north-west.
//
//     node --import tsx examples/aspect.ts
//
// Slopes are differences of the heights of neighbours. Hues go round with the aspect, from red in the north; flat ground
// is grey. The picture is aspect.png.
import { writeFile } from 'node:fs/promises';
import { encode } from 'fast-png';
import {
  atan,
  atan2,
  cos,
  f32,
  fn,
  hypot,
  map,
  neighbours,
  open,
  select,
  sequence,
  sin,
  stencil,
  u32,
} from 'quadrille';

const [WIDTH, HEIGHT, SPACING] = [600, 400, 30];

const height = fn('height', { cell: u32 }, f32, ({ cell }) => {
  const [x, y] = [f32(cell.rem(WIDTH)), f32(cell.div(WIDTH))];
  const hills = sin(x.mul(0.03))
    .mul(cos(y.mul(0.05)))
    .mul(300);
  return hills.add(sin(x.mul(0.11).add(y.mul(0.07))).mul(60)).max(-150);
});

const colour = fn('colour', { z: neighbours(f32) }, { r: u32, g: u32, b: u32, aspect: f32 }, ({ z }) => {
  const east = z
    .at(1, 0)
    .sub(z.at(-1, 0))
    .div(2 * SPACING);
  const south = z
    .at(0, 1)
    .sub(z.at(0, -1))
    .div(2 * SPACING);
  const slope = atan(hypot(east, south));
  const aspect = atan2(east.neg(), south);
  const light = cos(slope)
    .add(sin(slope).mul(cos(aspect.add(Math.PI / 4))))
    .mul(Math.SQRT1_2)
    .max(0);
  const isFlat = slope.lt(0.01);
  const part = (turn: number) => {
    const hue = cos(aspect.sub((turn * 2 * Math.PI) / 3))
      .mul(0.5)
      .add(0.5);
    return u32(select(hue, f32(0.5), isFlat).mul(0.6).add(0.4).mul(light).mul(255).min(255));
  };
  return { r: part(0), g: part(1), b: part(2), aspect: select(aspect, f32(-9), isFlat) };
});

await using context = await open();
const relief = map(height, { cell: sequence(WIDTH * HEIGHT) });
const { r, g, b, aspect } = await context.read(stencil(colour, { z: relief }, { width: WIDTH }));
const data = Uint8Array.from({ length: 3 * r.length }, (_, i) => [r, g, b][i % 3]![Math.floor(i / 3)]!);
await writeFile('aspect.png', encode({ width: WIDTH, height: HEIGHT, data, channels: 3 }));
const north = aspect.filter((angle) => Math.abs(angle) < Math.PI / 4).length;
console.log(`${north} of ${WIDTH * HEIGHT} cells fall to the north.`);

// 57076 of 240000 cells fall to the north.
