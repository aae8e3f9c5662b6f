import {
  array,
  Break,
  bool,
  type F32,
  For,
  f32,
  floor,
  fn,
  If,
  i32,
  Let,
  map,
  packBits,
  sequence,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import { congruential } from '../shared/random.ts';
import type { Answer, BenchProgram, Case } from './program.ts';
import { relief } from './relief.ts';

/** Height of an observer's eyes, in metres above the ground. */
const EYES = 2;

/**
 * What 100 observers on a relief see: for every observer and every cell within reach (100 cells to each side), whether no
 * cell between them is above the line of sight. Between cells, the ground has the height of the nearest one.
 */
export const viewshed: BenchProgram = {
  name: 'viewshed',
  over: 'grid',
  type: 'f32',
  sizes: [2048],
  kinds: {
    relief(side) {
      const random = congruential(5);
      const reach = Math.min(100, side >> 2);
      const observers = Uint32Array.from({ length: 200 }, () => reach + Math.floor(random() * (side - 2 * reach)));
      return { inputs: { heights: relief(side), observers }, sizes: { width: side, reach } };
    },
  },
  plain,
  quadrille(context, { inputs, sizes }) {
    const heights = context.column(inputs.heights as Float32Array);
    const observers = context.column(inputs.observers as Uint32Array);
    const { width, reach } = sizes as { width: number; reach: number };
    const cell = sequence((inputs.observers!.length / 2) * (2 * reach + 1) ** 2);
    const run = () => ({
      seen: packBits(context.materialize(map(isSeen, { cell, observers, heights, width, reach }))),
    });
    return { held: { heights, observers }, run };
  },
};

const isSeen = fn(
  { cell: u32, observers: array(u32), heights: array(f32), width: uniform(u32), reach: uniform(u32) },
  bool,
  ({ cell, observers, heights, width, reach }) => {
    const side = Let(reach.mul(2).add(1));
    const observer = Let(cell.div(side.mul(side)));
    const place = Let(cell.sub(observer.mul(side.mul(side))));
    const home = Let(
      observers
        .at(observer.mul(2).add(1))
        .mul(width)
        .add(observers.at(observer.mul(2))),
    );
    const at = (right: F32, down: F32) => heights.at(home.add(u32(i32(down)).mul(width)).add(u32(i32(right))));
    const dx = Let(f32(place.rem(side)).sub(f32(reach)));
    const dy = Let(f32(place.div(side)).sub(f32(reach)));
    const eye = Let(heights.at(home).add(EYES));
    const steps = Let(dx.abs().max(dy.abs()));
    const [right, down, rise] = [Let(dx.div(steps)), Let(dy.div(steps)), Let(at(dx, dy).sub(eye).div(steps))];
    const seen = Var(bool(true));
    For(1, u32(steps), (k) => {
      const far = Let(f32(k));
      const cell = (slope: F32) => floor(slope.mul(far).add(0.5));
      If(at(cell(right), cell(down)).sub(eye).gt(rise.mul(far)), () => {
        seen.set(false);
        Break();
      });
    });
    return seen;
  },
);

/** The same rays in f32, cell after cell. */
function plain({ inputs, sizes }: Case): () => Answer {
  const heights = inputs.heights as Float32Array;
  const observers = inputs.observers as Uint32Array;
  const width = sizes.width!;
  const reach = sizes.reach!;
  const cells = (observers.length / 2) * (2 * reach + 1) ** 2;
  const seen = new Uint32Array(Math.ceil(cells / 32));
  const { fround } = Math;
  return () => {
    seen.fill(0);
    for (let observer = 0, i = 0; observer < observers.length / 2; observer++) {
      const home = observers[2 * observer + 1]! * width + observers[2 * observer]!;
      const eye = fround(heights[home]! + EYES);
      for (let dy = -reach; dy <= reach; dy++) {
        for (let dx = -reach; dx <= reach; dx++, i++) {
          const steps = Math.max(Math.abs(dx), Math.abs(dy));
          const right = fround(dx / steps);
          const down = fround(dy / steps);
          const rise = fround(fround(heights[home + dy * width + dx]! - eye) / steps);
          let isSeen = true;
          for (let k = 1; k < steps; k++) {
            const x = Math.floor(fround(fround(right * k) + 0.5));
            const y = Math.floor(fround(fround(down * k) + 0.5));
            if (fround(heights[home + y * width + x]! - eye) > fround(rise * k)) {
              isSeen = false;
              break;
            }
          }
          if (isSeen) seen[i >> 5]! |= 1 << (i & 31);
        }
      }
    }
    return { seen };
  };
}
