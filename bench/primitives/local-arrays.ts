import * as q from '../../primitives/index.ts';
import { inTurns, machine, spread, spreadOf } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Measures functors with local arrays beside careful plain JavaScript on one thread, which computes the same answers, in
 * interleaved rounds: processor time of all threads and wall-clock time.
 *
 * - the median of 3 by 3 cells: all indices are known when the functor is recorded;
 * - the same by insertion, in loops whose indices are computed;
 * - the most frequent value of 3 by 3 cells of 16 classes: every cell has indices of its own;
 * - the eight least of 64 numbers, in order.
 *
 * node --import tsx bench/primitives/local-arrays.ts [--backend workers|webgpu] [--adapter hardware|software] [--workers 2]
 *   [--side 1024] [--rounds 7]
 */
const options = programOptions({ ...BACKEND_OPTIONS, side: 1024, rounds: 7 });

const { array, For, fn, LocalArray, neighbours, u32, Var, While } = q;
const { side } = options;
const cells = side * side;

const offsets = [-1, 0, 1].flatMap((dy) => [-1, 0, 1].map((dx) => [dx, dy] as const));

const sorted = fn('median, indices known', { z: neighbours(u32) }, u32, ({ z }) => {
  const of = LocalArray(9, u32(0));
  for (const [k, [dx, dy]] of offsets.entries()) of.set(k, z.at(dx, dy));
  for (let end = 8; end >= 4; end--) {
    for (let k = 0; k < end; k++) {
      const [a, b] = [of.at(k), of.at(k + 1)];
      of.set(k, a.min(b));
      of.set(k + 1, a.max(b));
    }
  }
  return of.at(4);
});

const inserted = fn('median by insertion', { z: neighbours(u32) }, u32, ({ z }) => {
  const of = LocalArray(9, u32(0));
  for (const [k, [dx, dy]] of offsets.entries()) of.set(k, z.at(dx, dy));
  For(1, 9, (k) => {
    const [x, at] = [of.at(k), Var(k)];
    While(
      () => at.gt(0).and(of.at(at.sub(1)).gt(x)),
      () => {
        of.set(at, of.at(at.sub(1)));
        at.set(at.sub(1));
      },
    );
    of.set(at, x);
  });
  return of.at(4);
});

const mostFrequent = fn('mode of 16 classes', { z: neighbours(u32) }, u32, ({ z }) => {
  const counts = LocalArray(16, u32(0));
  for (const [dx, dy] of offsets) {
    const value = z.at(dx, dy).and(15);
    counts.set(value, counts.at(value).add(1));
  }
  const best = Var(u32(0));
  For(1, 16, (k) => best.set(q.select(best, k, counts.at(k).gt(counts.at(best)))));
  return best;
});

const least = fn('the eighth least of 64', { i: u32, z: array(u32) }, u32, ({ i, z }) => {
  const kept = LocalArray(8, u32(2 ** 32 - 1));
  For(0, 64, (k) => {
    const [x, at] = [z.at(i.mul(64).add(k)), Var(u32(8))];
    While(
      () => at.gt(0).and(kept.at(at.sub(1)).gt(x)),
      () => {
        kept.set(at, kept.at(at.sub(1)));
        at.set(at.sub(1));
      },
    );
    kept.set(at, x);
  });
  return kept.at(7);
});

/** The nine cells around a cell, of which those outside the grid are its nearest cells. */
function around(z: Uint32Array, x: number, y: number, into: Uint32Array): void {
  let k = 0;
  for (let dy = -1; dy <= 1; dy++) {
    const row = side * Math.min(side - 1, Math.max(0, y + dy));
    for (let dx = -1; dx <= 1; dx++) into[k++] = z[row + Math.min(side - 1, Math.max(0, x + dx))]!;
  }
}

function insert(into: Uint32Array, length: number, x: number): void {
  let at = length;
  for (; at > 0 && into[at - 1]! > x; at--) if (at < into.length) into[at] = into[at - 1]!;
  if (at < into.length) into[at] = x;
}

/** A plain loop over the grid. */
function overCells(z: Uint32Array, each: (nine: Uint32Array) => number): Uint32Array {
  const made = new Uint32Array(cells);
  const nine = new Uint32Array(9);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      around(z, x, y, nine);
      made[y * side + x] = each(nine);
    }
  }
  return made;
}

function plainMedian(z: Uint32Array): Uint32Array {
  const order = new Uint32Array(9);
  return overCells(z, (nine) => {
    for (let k = 0; k < 9; k++) insert(order, k, nine[k]!);
    return order[4]!;
  });
}

function plainMode(z: Uint32Array): Uint32Array {
  const counts = new Uint32Array(16);
  return overCells(z, (nine) => {
    counts.fill(0);
    for (let k = 0; k < 9; k++) counts[nine[k]! & 15]!++;
    let best = 0;
    for (let k = 1; k < 16; k++) if (counts[k]! > counts[best]!) best = k;
    return best;
  });
}

function plainLeast(z: Uint32Array): Uint32Array {
  const kept = new Uint32Array(8);
  return Uint32Array.from({ length: cells / 64 }, (_, row) => {
    kept.fill(2 ** 32 - 1);
    for (let k = 0; k < 64; k++) insert(kept, 8, z[64 * row + k]!);
    return kept[7]!;
  });
}

await using context = await openNamed(options);
const numbers = Uint32Array.from({ length: cells }, (_, i) => Math.imul(i ^ (i >>> 7), 2654435761) >>> 0);
const z = context.column(numbers, { rows: side, columns: side });
const stencils = (functor: typeof sorted) => () => context.materialize(q.stencil(functor, { z }));
const rows = q.sequence(cells / 64);
const works = [
  { functor: sorted, call: stencils(sorted), plain: plainMedian },
  { functor: inserted, call: stencils(inserted), plain: plainMedian },
  { functor: mostFrequent, call: stencils(mostFrequent), plain: plainMode },
  { functor: least, call: () => context.materialize(q.map(least, { i: rows, z })), plain: plainLeast },
] as const;

console.log(machine());
console.log(`${side} × ${side} cells, ${options.rounds} rounds; milliseconds: median (least–greatest)`);
for (const { functor, call, plain } of works) {
  const expected = plain(numbers);
  const device = async (): Promise<Uint32Array> => {
    const made = call();
    await context.sync();
    const result = await context.read(made);
    context.dispose(made);
    return result;
  };
  const check = (got: Uint32Array): void => {
    if (!got.every((value, i) => value === expected[i])) throw new Error(`${functor.functorName} differs.`);
  };
  const times = await inTurns({ device, plain: () => plain(numbers) }, { rounds: options.rounds, warmUps: 3 }, check);
  const [ours, theirs] = ['device', 'plain'].map((name) => times.get(name)!);
  const of = (took: typeof ours, which: 'wall' | 'processor') => took!.map((each) => 1000 * each[which]);
  const ratio = (which: 'wall' | 'processor') => spreadOf(of(theirs, which)).median / spreadOf(of(ours, which)).median;
  console.log(
    `${functor.functorName}: processor ${spread(of(ours, 'processor'))} beside ${spread(of(theirs, 'processor'))}, ` +
      `${ratio('processor').toFixed(2)} ×; wall ${spread(of(ours, 'wall'))} beside ${spread(of(theirs, 'wall'))}, ` +
      `${ratio('wall').toFixed(2)} ×`,
  );
}
