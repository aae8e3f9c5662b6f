import { connectedComponents } from '../../algorithms/components/index.ts';
import { mulberry32 } from '../shared/random.ts';
import type { Answer, BenchProgram, Case } from './program.ts';

const NONE = 2 ** 32 - 1;

/** Labels the 4-connected components of a grid by the index of their first cell: the library's own function. */
export const components: BenchProgram = {
  name: 'components',
  over: 'grid',
  type: 'u32',
  sizes: [4096],
  cpp: 'components.cpp',
  kinds: {
    noise: (side) => cellsWhere(side, below(0.5)),
    percolation: (side) => cellsWhere(side, below(0.593)),
    calm: (side) => cellsWhere(side, isHigh()),
    spiral: (side) => cellsWhere(side, (x, y) => isSpiral(x, y, side)),
    comb: (side) => cellsWhere(side, (x, y) => y === side - 1 || x % 2 === 0),
    'all-set': (side) => cellsWhere(side, () => true),
  },
  plain,
  quadrille(context, { inputs, sizes }) {
    const cells = context.column(Array.from(inputs.cells!, (cell) => cell === 1));
    return { held: cells, run: () => ({ label: connectedComponents(context, cells, { width: sizes.width! }) }) };
  },
};

/** One scan that unites a cell with the cells above and to the left, then one that follows the links. */
function plain({ inputs, sizes }: Case): () => Answer {
  const cells = inputs.cells as Uint8Array;
  const width = sizes.width!;
  const label = new Uint32Array(cells.length);
  const find = (from: number): number => {
    let cell = from;
    for (let next = label[cell]!; next !== cell; next = label[cell]!) {
      const after = label[next]!;
      label[cell] = after;
      cell = after;
    }
    return cell;
  };
  return () => {
    for (let start = 0; start < cells.length; start += width) {
      for (let x = 0, i = start; x < width; x++, i++) {
        if (cells[i] === 0) {
          label[i] = NONE;
          continue;
        }
        const left = x > 0 && cells[i - 1] !== 0;
        const up = start > 0 && cells[i - width] !== 0;
        if (!up) {
          label[i] = left ? label[i - 1]! : i;
        } else if (!left) {
          label[i] = label[i - width]!;
        } else if (cells[i - width - 1] !== 0) {
          // The cells above and to the left are connected by the one between them.
          label[i] = label[i - 1]!;
        } else {
          const [a, b] = [find(i - 1), find(i - width)];
          const least = Math.min(a, b);
          label[a] = least;
          label[b] = least;
          label[i] = least;
        }
      }
    }
    // Links lead to earlier cells, whose labels are final here.
    for (let i = 0; i < label.length; i++) if (label[i] !== NONE) label[i] = label[label[i]!]!;
    return { label };
  };
}

type IsSet = (x: number, y: number) => boolean;

function cellsWhere(side: number, isSet: IsSet): Case {
  const cells = new Uint8Array(side * side);
  for (let y = 0, i = 0; y < side; y++) for (let x = 0; x < side; x++, i++) cells[i] = isSet(x, y) ? 1 : 0;
  return { inputs: { cells }, sizes: { width: side } };
}

/** Whether a random number is below the given one. */
function below(part: number): IsSet {
  const random = mulberry32(1);
  return () => random() < part;
}

/** Whether a sum of waves is above its mean. */
function isHigh(): IsSet {
  const random = mulberry32(1);
  const waves = Array.from({ length: 12 }, () => [random() - 0.5, random() - 0.5, 7 * random()] as const);
  return (x, y) => waves.reduce((sum, [a, b, c]) => sum + Math.sin((a * x + b * y) / 8 + c), 0) > 0;
}

/** A path of one cell's width that winds from the upper left corner to the middle, with one cell between its turns. */
function isSpiral(x: number, y: number, side: number): boolean {
  const ring = Math.min(x, y, side - 1 - x, side - 1 - y);
  // The left side of a turn ends one cell below the next turn, and the path goes inwards there.
  if (x === ring && y === ring + 1 && ring < side / 2 - 1) return ring % 2 === 1;
  return ring % 2 === 0;
}
