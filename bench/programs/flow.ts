import {
  bool,
  type Column,
  type Context,
  constant,
  copyIf,
  f32,
  fn,
  gather,
  If,
  Let,
  map,
  neighbours,
  scatter,
  scatterReduce,
  select,
  sequence,
  stencil,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import type { Answer, BenchProgram, Case } from './program.ts';
import { relief } from './relief.ts';

/** The neighbours of a cell, in the order in which ties of steepness are decided. */
const AROUND = [[0, -1], [-1, 0], [1, 0], [0, 1], [-1, -1], [1, -1], [-1, 1], [1, 1]] as const; // biome-ignore format: one line
const SLANT = Math.fround(Math.SQRT1_2);
/** Downstream of a cell that keeps its water. */
export const NOWHERE: number = 2 ** 32 - 1;
/** No way down the relief has 2^ROUNDS cells. */
export const ROUNDS: number = 12;

/**
 * Where water flows on a relief: every cell drains to its neighbour of steepest descent (D8), or keeps its water if none
 * is lower. `area` is the number of cells that drain through a cell, itself included.
 */
export const flow: BenchProgram = {
  name: 'flow',
  over: 'grid',
  type: 'f32',
  sizes: [2048],
  kinds: { relief: (side) => ({ inputs: { heights: relief(side) }, sizes: { width: side } }) },
  plain,
  quadrille(context, { inputs, sizes }) {
    const width = sizes.width!;
    const heights = context.column(inputs.heights as Float32Array);
    const cell = sequence(heights.length);
    const run = () => {
      const to = context.materialize(
        stencil(downhill, { cell, z: heights, width }, { width, boundary: 'constant', outside: { z: Infinity } }),
      );
      return { to, area: drainedAreas(context, context.materialize(map(nextOf, { cell, to }))) };
    };
    return { held: heights, run };
  },
};

const downhill = fn({ cell: u32, z: neighbours(f32), width: uniform(u32) }, u32, ({ cell, z, width }) => {
  const [steepest, to] = [Var(f32(0)), Var(cell)];
  for (const [dx, dy] of AROUND) {
    const fall = z.at(0, 0).sub(z.at(dx, dy));
    const drop = Let(dx !== 0 && dy !== 0 ? fall.mul(SLANT) : fall);
    If(drop.gt(steepest), () => {
      steepest.set(drop);
      to.set(cell.add(dx >>> 0).add(width.mul(dy >>> 0)));
    });
  }
  return to;
});
/** The number of cells that drain through each cell, itself included, from the next cell downstream, or `NOWHERE`. */
export function drainedAreas(context: Context, next: Column<'u32'>): Column<'u32'> {
  const cell = sequence(next.length);
  const area = context.materialize(constant(u32, 1, next.length));
  // Before round k, `ahead` is the cell 2^k steps downstream, and `area` counts the cells less than 2^k steps upstream.
  let ahead = next;
  let moving = copyIf({ cell, ahead }, flows);
  for (let round = 0; round < ROUNDS; round++) {
    scatterReduce(context.materialize(gather(area, moving.cell)), moving.ahead, 'add', area);
    const further = context.materialize(gather(ahead, moving.ahead));
    ahead = scatter(further, moving.cell, next.length, { onto: ahead });
    moving = copyIf({ cell: moving.cell, ahead: further }, flows);
  }
  return area;
}

const nextOf = fn({ cell: u32, to: u32 }, u32, ({ cell, to }) => select(to, u32(NOWHERE), to.eq(cell)));
const flows = fn({ ahead: u32 }, bool, ({ ahead }) => ahead.ne(NOWHERE));

/** Cells are drained in topological order, by a queue of the cells all of whose upstream cells are done. */
function plain({ inputs, sizes }: Case): () => Answer {
  const heights = inputs.heights as Float32Array;
  const width = sizes.width!;
  const height = heights.length / width;
  const empty = (): Uint32Array => new Uint32Array(heights.length);
  const [to, area, upstream, queue] = [empty(), empty(), empty(), empty()];
  return () => {
    for (let y = 0, i = 0; y < height; y++) {
      for (let x = 0; x < width; x++, i++) {
        const own = heights[i]!;
        let steepest = 0;
        let target = i;
        for (let k = 0; k < 8; k++) {
          const [dx, dy] = AROUND[k]!;
          if (x + dx < 0 || x + dx >= width || y + dy < 0 || y + dy >= height) continue;
          const other = i + dy * width + dx;
          const drop = k < 4 ? own - heights[other]! : Math.fround((own - heights[other]!) * SLANT);
          if (drop > steepest) {
            steepest = drop;
            target = other;
          }
        }
        to[i] = target;
      }
    }
    area.fill(1);
    upstream.fill(0);
    for (let i = 0; i < to.length; i++) if (to[i] !== i) upstream[to[i]!]!++;
    let end = 0;
    for (let i = 0; i < to.length; i++) if (upstream[i] === 0) queue[end++] = i;
    for (let at = 0; at < end; at++) {
      const cell = queue[at]!;
      const next = to[cell]!;
      if (next === cell) continue;
      area[next]! += area[cell]!;
      if (--upstream[next]! === 0) queue[end++] = next;
    }
    return { to, area };
  };
}
