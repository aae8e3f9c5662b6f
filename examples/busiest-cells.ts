// Finds the cells of a grid that contain the most points. For each of these cells, prints the number of its points and
// their bounding box.
//
//     node --import tsx examples/busiest-cells.ts
//
// Sorting by cell makes the points of a cell adjacent. One reduction by key then computes all results, with a monoid of
// several fields. Until the result is read, only the device knows how many cells contain points.
import {
  constant,
  fn,
  map,
  maximum,
  minimum,
  open,
  plus,
  product,
  reduceByKey,
  sequence,
  slice,
  sortByKey,
  u32,
} from 'quadrille';

const POINTS = 1_000_000;
/**
 * Number of bits of a cell's column or row. Coordinates have 16 bits, so there are 256 × 256 cells, each with 256 × 256
 * positions.
 */
const CELL_BITS = 8;

/** A hash of n: every bit of the result depends on every bit of n (Wellons, lowbias32). */
const scramble = fn('scramble', { n: u32 }, u32, ({ n }) => {
  const a = n.xor(n.shr(16)).mul(0x7feb352d);
  const b = a.xor(a.shr(15)).mul(0x846ca68b);
  return b.xor(b.shr(16));
});

/** Point number n. Points are denser near the origin. */
const point = fn('point', { n: u32 }, { x: u32, y: u32 }, ({ n }) => {
  const bits = scramble({ n });
  const [u, v] = [bits.and(0xffff), bits.shr(16)];
  return { x: u.mul(u).shr(16), y: v.mul(v).shr(16) };
});

const cellOf = fn('cellOf', { x: u32, y: u32 }, u32, ({ x, y }) => y.shr(8).shl(CELL_BITS).or(x.shr(8)));

const summary = product({
  count: plus(u32),
  left: minimum(u32),
  right: maximum(u32),
  bottom: minimum(u32),
  top: maximum(u32),
});

await using context = await open();
const busiest = context.scope(() => {
  const points = context.materialize(map(point, { n: sequence(POINTS) }));
  const { keys, values } = sortByKey(map(cellOf, points), points, { bits: { from: 0, to: 2 * CELL_BITS } });
  const { x, y } = values;
  const one = constant(u32, 1, POINTS);
  const cells = reduceByKey(keys, { count: one, left: x, right: x, bottom: y, top: y }, summary);
  return slice(sortByKey(cells.values.count, { cell: cells.keys, ...cells.values }, { descending: true }).values, 0, 3);
});
const { cell, count, left, right, bottom, top } = await context.read(busiest);
for (const [i, key] of cell.entries()) {
  const box = `x ${left[i]} to ${right[i]}, y ${bottom[i]} to ${top[i]}`;
  console.log(`cell (${key % 256}, ${key >> CELL_BITS}): ${count[i]} points, ${box}`);
}

// cell (0, 0): 3937 points, x 0 to 255, y 0 to 255
// cell (1, 0): 1622 points, x 256 to 511, y 0 to 255
// cell (0, 1): 1571 points, x 0 to 255, y 256 to 511
