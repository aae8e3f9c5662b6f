// A new algorithm made from primitives: finds which cells of a terrain are visible to an observer at the western end of
// the same row.
//
//     node --import tsx examples/line-of-sight.ts
//
// A cell is visible if the line from the observer to the cell is at least as steep as the lines to all cells in between
// (Blelloch, Prefix sums and their applications, 1990). The algorithm needs a running maximum of the lines' slopes,
// which restarts with every row. The algorithm runs unchanged on every backend. Slopes are quotients of f32, but have
// the same bytes on every backend.
import {
  bool,
  type Column,
  f32,
  fn,
  map,
  maximum,
  open,
  plus,
  reduce,
  segmentedScan,
  sequence,
  u32,
  uniform,
} from 'quadrille';

const COLUMNS = 1000;
const ROWS = 400;

/** The height of a cell: a whole number of metres, computed from the cell's number. */
const height = fn('height', { cell: u32 }, f32, ({ cell }) => {
  const [x, y] = [cell.rem(COLUMNS), cell.div(COLUMNS)];
  const ridge = x.mul(7).add(y.mul(3)).xor(x.mul(y).shr(6)).rem(97);
  return f32(ridge.add(x.div(10)));
});

const slope = fn('slope', { cell: u32, metres: f32, eye: uniform(f32) }, f32, ({ cell, metres, eye }) =>
  metres.sub(eye).div(f32(cell.rem(COLUMNS)).add(0.5)),
);

const startsRow = fn('startsRow', { cell: u32 }, bool, ({ cell }) => cell.rem(COLUMNS).eq(0));
const isHighest = fn('isHighest', { slope: f32, highest: f32 }, u32, ({ slope, highest }) => u32(slope.ge(highest)));

/**
 * For every cell, two results: whether the cell is visible (1 or 0) to an observer who is `eye` metres above the
 * western end of the cell's row, and the maximum slope from the start of the row to the cell.
 */
function lineOfSight(metres: Column<'f32'>, eye: number): { visible: Column<'u32'>; highest: Column<'f32'> } {
  const cell = sequence(metres.length);
  const slopes = map(slope, { cell, metres, eye });
  const highest = segmentedScan(slopes, map(startsRow, { cell }), maximum(f32));
  return { visible: map(isHighest, { slope: slopes, highest }), highest };
}

async function look(backend: 'reference' | 'workers'): Promise<{ seen: number; bytes: Buffer }> {
  await using context = await open({ backend });
  const metres = map(height, { cell: sequence(COLUMNS * ROWS) });
  const { visible, highest } = lineOfSight(context.materialize(metres), 150);
  const result = await context.read({ seen: reduce(visible, plus(u32)), highest });
  return { seen: result.seen[0]!, bytes: Buffer.from(result.highest.buffer) };
}

const [plain, threads] = [await look('reference'), await look('workers')];
console.log(`${threads.seen} of ${COLUMNS * ROWS} cells are visible.`);
console.log(`Slopes have the same bytes on both backends: ${plain.bytes.equals(threads.bytes)}.`);

// 26679 of 400000 cells are visible.
// Slopes have the same bytes on both backends: true.
