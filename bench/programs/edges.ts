import { f32, fn, neighbours, select, stencil } from '../../primitives/index.ts';
import type { Answer, BenchProgram, Case } from './program.ts';
import { relief } from './relief.ts';

/**
 * Edges of an image: a separable Gaussian of five cells each way, Sobel's gradient, and the cells whose gradient is the
 * greatest along its own direction. All numbers are whole or fractions of 256, so that f32 holds them exactly.
 */
export const edges: BenchProgram = {
  name: 'edges',
  over: 'grid',
  type: 'f32',
  sizes: [4096, 256],
  cpp: 'edges.cpp',
  kinds: {
    relief: (side) => ({ inputs: { image: relief(side).map((height) => height % 256) }, sizes: { width: side } }),
  },
  plain,
  quadrille(context, { inputs, sizes }) {
    const width = sizes.width!;
    const image = context.column(inputs.image as Float32Array);
    const run = () => {
      const smooth = stencil(smoothDown, { x: stencil(smoothAlong, { x: image }, { width }) }, { width });
      const slopes = stencil(slope, { x: smooth }, { width });
      return { edge: context.materialize(stencil(thin, { g: slopes }, { width })) };
    };
    return { held: image, run };
  },
};

const smoothAlong = fn({ x: neighbours(f32) }, f32, ({ x }) =>
  x
    .at(-2)
    .add(x.at(2))
    .add(x.at(-1).add(x.at(1)).mul(4))
    .add(x.at(0).mul(6))
    .div(16),
);
const smoothDown = fn({ x: neighbours(f32) }, f32, ({ x }) =>
  x
    .at(0, -2)
    .add(x.at(0, 2))
    .add(x.at(0, -1).add(x.at(0, 1)).mul(4))
    .add(x.at(0, 0).mul(6))
    .div(16),
);
const slope = fn({ x: neighbours(f32) }, { x: f32, y: f32 }, ({ x }) => ({
  x: x
    .at(1, -1)
    .sub(x.at(-1, -1))
    .add(x.at(1, 0).sub(x.at(-1, 0)).mul(2))
    .add(x.at(1, 1).sub(x.at(-1, 1))),
  y: x
    .at(-1, 1)
    .sub(x.at(-1, -1))
    .add(x.at(0, 1).sub(x.at(0, -1)).mul(2))
    .add(x.at(1, 1).sub(x.at(1, -1))),
}));
const thin = fn({ g: neighbours({ x: f32, y: f32 }) }, f32, ({ g }) => {
  const steep = (dx: number, dy: number) => {
    const { x, y } = g.at(dx, dy);
    return x.abs().add(y.abs());
  };
  const { x, y } = g.at(0, 0);
  const own = steep(0, 0);
  // The greater of the two neighbours in the direction of the gradient: along, across, or one of the diagonals.
  const pair = (dx: number, dy: number) => steep(dx, dy).max(steep(-dx, -dy));
  const [ax, ay] = [x.abs(), y.abs()];
  const diagonal = select(pair(1, -1), pair(1, 1), x.mul(y).ge(0));
  const beside = select(select(diagonal, pair(0, 1), ax.mul(2).lt(ay)), pair(1, 0), ay.mul(2).lt(ax));
  return select(f32(0), own, own.ge(beside));
});

/** The same in four loops over the grid. Cells at its border, whose neighbours may be outside, have loops of their own. */
function plain({ inputs, sizes }: Case): () => Answer {
  const image = inputs.image as Float32Array;
  const width = sizes.width!;
  const height = image.length / width;
  const empty = (): Float32Array => new Float32Array(image.length);
  const [along, smooth, gx, gy, edge] = [empty(), empty(), empty(), empty(), empty()];
  const clampX = (x: number): number => Math.min(width - 1, Math.max(0, x));
  const clampY = (y: number): number => Math.min(height - 1, Math.max(0, y));
  const smoothCell = (x: number, y: number): void => {
    const at = (dx: number): number => image[y * width + clampX(x + dx)]!;
    along[y * width + x] = (at(-2) + at(2) + (at(-1) + at(1)) * 4 + at(0) * 6) / 16;
  };
  const slopeCell = (x: number, y: number): void => {
    const at = (dx: number, dy: number): number => smooth[clampY(y + dy) * width + clampX(x + dx)]!;
    gx[y * width + x] = at(1, -1) - at(-1, -1) + (at(1, 0) - at(-1, 0)) * 2 + (at(1, 1) - at(-1, 1));
    gy[y * width + x] = at(-1, 1) - at(-1, -1) + (at(0, 1) - at(0, -1)) * 2 + (at(1, 1) - at(1, -1));
  };
  const steep = (i: number): number => Math.abs(gx[i]!) + Math.abs(gy[i]!);
  const thinCell = (x: number, y: number): void => {
    const i = y * width + x;
    const [ax, ay] = [Math.abs(gx[i]!), Math.abs(gy[i]!)];
    const [dx, dy] = ay * 2 < ax ? [1, 0] : ax * 2 < ay ? [0, 1] : gx[i]! * gy[i]! >= 0 ? [1, 1] : [1, -1];
    const own = steep(i);
    const a = steep(clampY(y + dy) * width + clampX(x + dx));
    const b = steep(clampY(y - dy) * width + clampX(x - dx));
    edge[i] = own >= a && own >= b ? own : 0;
  };
  const border = (cell: (x: number, y: number) => void): void => {
    for (let x = 0; x < width; x++) {
      cell(x, 0);
      cell(x, height - 1);
    }
    for (let y = 1; y < height - 1; y++) {
      cell(0, y);
      cell(width - 1, y);
    }
  };
  return () => {
    for (let y = 0; y < height; y++) {
      for (const x of [0, 1, width - 2, width - 1]) smoothCell(x, y);
      for (let i = y * width + 2, end = (y + 1) * width - 2; i < end; i++) {
        along[i] = (image[i - 2]! + image[i + 2]! + (image[i - 1]! + image[i + 1]!) * 4 + image[i]! * 6) / 16;
      }
    }
    for (let y = 0; y < height; y++) {
      const [a, b] = [clampY(y - 2) * width, clampY(y - 1) * width];
      const [c, d, e] = [y * width, clampY(y + 1) * width, clampY(y + 2) * width];
      for (let x = 0; x < width; x++) {
        smooth[c + x] = (along[a + x]! + along[e + x]! + (along[b + x]! + along[d + x]!) * 4 + along[c + x]! * 6) / 16;
      }
    }
    for (let y = 1; y < height - 1; y++) {
      for (let i = y * width + 1, end = (y + 1) * width - 1; i < end; i++) {
        const up = i - width;
        const down = i + width;
        const nw = smooth[up - 1]!;
        const ne = smooth[up + 1]!;
        const sw = smooth[down - 1]!;
        const se = smooth[down + 1]!;
        gx[i] = ne - nw + (smooth[i + 1]! - smooth[i - 1]!) * 2 + (se - sw);
        gy[i] = sw - nw + (smooth[down]! - smooth[up]!) * 2 + (se - ne);
      }
    }
    border(slopeCell);
    for (let y = 1; y < height - 1; y++) {
      for (let i = y * width + 1, end = (y + 1) * width - 1; i < end; i++) {
        const ax = Math.abs(gx[i]!);
        const ay = Math.abs(gy[i]!);
        const step = ay * 2 < ax ? 1 : ax * 2 < ay ? width : gx[i]! * gy[i]! >= 0 ? width + 1 : width - 1;
        const own = ax + ay;
        edge[i] = own >= steep(i + step) && own >= steep(i - step) ? own : 0;
      }
    }
    border(thinCell);
    return { edge };
  };
}
