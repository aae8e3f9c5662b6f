// Estimates the volumes of unit balls by random points, with bootstrap intervals: quantiles by group of the estimates from
// points that are drawn again.
//
//     node --import tsx examples/bootstrap.ts
//
// A group is a number of dimensions. Random numbers depend on their row, the seed and the stream only, so estimates are
// the same on every backend. The picture is volumes.svg.
import { writeFile } from 'node:fs/promises';
import {
  array,
  For,
  f32,
  fn,
  map,
  open,
  philox4x32,
  plus,
  randomIntegers,
  segmentedQuantiles,
  segmentedReduce,
  sequence,
  u32,
  uniformOfWord,
  Var,
} from 'quadrille';

const [GROUPS, POINTS, AGAIN, SEED] = [6, 2000, 200, 7];

/** Whether a random point of the cube from −1 to 1 is in the ball: 1 or 0. */
const hit = fn('hit', { point: u32 }, u32, ({ point }) => {
  const squares = Var(f32(0));
  For(u32(0), point.div(POINTS).add(2), (axis) => {
    const counter = { lo: { lo: point, hi: axis }, hi: { lo: 0, hi: 0 } };
    const { lo: word } = philox4x32({ counter, key: { lo: SEED, hi: 0 } }).lo;
    const along = uniformOfWord({ word }).mul(2).sub(1);
    squares.set(squares.add(along.mul(along)));
  });
  return u32(squares.le(1));
});

const drawn = fn('drawn', { row: u32, draw: u32, hits: array(u32) }, u32, ({ row, draw, hits }) =>
  hits.at(
    row
      .div(POINTS * AGAIN)
      .mul(POINTS)
      .add(draw),
  ),
);

await using context = await open();
const hits = context.materialize(map(hit, { point: sequence(GROUPS * POINTS) }));
const rows = GROUPS * AGAIN * POINTS;
const draw = randomIntegers(rows, POINTS, { seed: SEED });
const again = segmentedReduce(
  map(drawn, { row: sequence(rows), draw, hits }),
  sequence(GROUPS * AGAIN + 1, 0, POINTS),
  plus(u32),
);
const found = await context.read(segmentedQuantiles(again, sequence(GROUPS + 1, 0, AGAIN), [0.025, 0.5, 0.975]));
const bars = Array.from({ length: GROUPS }, (_, group) => {
  const [low, middle, high] = [0, 1, 2].map((i) => (found[3 * group + i]! / POINTS) * 2 ** (group + 2));
  console.log(`${group + 2} dimensions: ${middle!.toFixed(2)} (${low!.toFixed(2)} to ${high!.toFixed(2)})`);
  const [x, y] = [30 + 60 * group, (volume: number) => (190 - 25 * volume).toFixed(1)];
  return `<path d="M${x} ${y(low!)}V${y(high!)}" stroke="black"/><circle cx="${x}" cy="${y(middle!)}" r="4"/>
    <text x="${x + 6}" y="${y(middle!)}" font-size="9">${group + 2}: ${middle!.toFixed(2)}</text>`;
});
await writeFile('volumes.svg', `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 360 200">${bars.join('')}</svg>`);

// 2 dimensions: 3.07 (3.01 to 3.14)
// 3 dimensions: 4.32 (4.15 to 4.49)
// 4 dimensions: 4.86 (4.56 to 5.24)
// 5 dimensions: 5.33 (4.82 to 5.79)
// 6 dimensions: 5.15 (4.42 to 5.95)
// 7 dimensions: 4.48 (3.46 to 5.57)
