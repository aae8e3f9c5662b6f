// Simulates many small grids in parallel, each until its own stopping rule holds: metal plates until their temperature
// is even, and boards of Conway's Game of Life until they stop changing.
//
//     node --import tsx examples/heat-and-life.ts
//
// With `relax`, one workgroup or thread computes all rounds of a grid, so one launch is enough for all grids and
// rounds. The number of rounds of every grid is a result. This number is the same on all backends, because the stopping
// rules compare integers: sums of the changes of all cells.
import {
  bool,
  type Context,
  f32,
  fn,
  map,
  neighbours,
  open,
  plus,
  relax,
  round,
  select,
  sequence,
  u32,
} from 'quadrille';

const PLATE = { width: 24, height: 16 };
const BOARD = { width: 20, height: 20 };

/**
 * The next temperature of a cell: the current temperature plus a fifth of the sum of the differences to the four
 * neighbours.
 */
const conduct = fn('conduct', { t: neighbours(f32) }, f32, ({ t }) => {
  const sides = t.at(-1).add(t.at(1)).add(t.at(0, -1)).add(t.at(0, 1));
  return t.at(0).add(sides.sub(t.at(0).mul(4)).mul(0.2));
});
/** The absolute change of a cell's temperature, in thousandths of a degree. */
const warmed = fn('warmed', { before: f32, after: f32 }, u32, ({ before, after }) =>
  u32(round(after.sub(before).abs().mul(1000))),
);
const isEven = fn('isEven', { total: u32, cells: u32 }, bool, ({ total, cells }) => total.le(cells));

/** The next state of a cell: with three live neighbours it lives, with two it keeps its state, otherwise it is dead. */
const live = fn('live', { cell: neighbours(u32) }, u32, ({ cell }) => {
  const around = [-1, 0, 1].flatMap((y) => [-1, 0, 1].map((x) => cell.at(x, y))).reduce((a, b) => a.add(b));
  const others = around.sub(cell.at(0));
  return select(u32(0), u32(1), others.eq(3).or(others.eq(2).and(cell.at(0).eq(1))));
});
const flipped = fn('flipped', { before: u32, after: u32 }, u32, ({ before, after }) => before.xor(after));
const isStill = fn('isStill', { total: u32 }, bool, ({ total }) => total.eq(0));

/** A pseudo-random number for every i. */
const random = fn('random', { i: u32 }, u32, ({ i }) => {
  const mixed = i.mul(0x9e3779b1).xor(i.shr(7)).mul(0x85ebca6b);
  return mixed.xor(mixed.shr(15));
});
const heat = fn('heat', { i: u32 }, f32, ({ i }) => f32(random({ i }).rem(100)));
const alive = fn('alive', { i: u32 }, u32, ({ i }) => u32(random({ i }).rem(10).lt(3)));

async function run(context: Context, count: { readonly plates: number; readonly boards: number }) {
  const t = map(heat, { i: sequence(count.plates * PLATE.width * PLATE.height) });
  const even = { change: warmed, total: plus(u32), until: isEven };
  const plates = relax(PLATE, conduct, { t }, even, { maxRounds: 1000, context });

  const cell = map(alive, { i: sequence(count.boards * BOARD.width * BOARD.height) });
  const still = { change: flipped, total: plus(u32), until: isStill };
  const boards = relax(BOARD, live, { cell }, still, { maxRounds: 200, boundary: 'wrap', context });

  return context.read({ plates: plates.rounds, boards: boards.rounds });
}

await using workers = await open({ backend: 'workers' });
const { plates, boards } = await run(workers, { plates: 501, boards: 300 });
const sorted = plates.toSorted();
console.log(`Heat evens out after ${sorted[0]} to ${sorted.at(-1)} rounds, ${sorted[250]} in the median.`);
console.log(`${boards.filter((rounds) => rounds < 200).length} of 300 boards stand still before round 200.`);

await using reference = await open({ backend: 'reference' });
const few = { plates: 1, boards: 1 };
const [threads, plain] = [await run(workers, few), await run(reference, few)];
console.log(
  `The reference needs as many: ${threads.plates[0] === plain.plates[0] && threads.boards[0] === plain.boards[0]}.`,
);

// Heat evens out after 171 to 780 rounds, 373 in the median.
// 100 of 300 boards stand still before round 200.
// The reference needs as many: true.
