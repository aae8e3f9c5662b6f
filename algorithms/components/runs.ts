import {
  array,
  type Bool,
  bool,
  type Column,
  type Context,
  clz,
  disjointSets,
  type Edges,
  For,
  fn,
  If,
  Let,
  map,
  select,
  sequence,
  type U32,
  u32,
  uniform,
  Var,
  While,
} from '../../primitives/index.ts';

/**
 * A grid of cells as bits. Every row begins a word: bit k of word c of a row is cell 32 c + k of the row. Bits after the
 * end of a row, and after the last cell, are not set.
 */
interface RowWords {
  readonly cells: Column<'bool'>;
  readonly width: number;
  /** Words in a row. */
  readonly pitch: number;
  readonly bits: Column<'u32'>;
  /** For every word, the first cell of the run that holds its first cell, if that is set. */
  readonly firsts: Column<'u32'>;
}

/** The label of a cell that is not set. */
export const NO_COMPONENT: number = 2 ** 32 - 1;

/** Labels components by the edges between runs, for backends that run many rows at a time. */
export function labelsByEdges(
  context: Context,
  cells: Column<'bool'>,
  width: number,
  connectivity: 4 | 8,
): Column<'u32'> {
  const rows = wordsOfRows(context, cells, width);
  const links = startsOfRuns(rows);
  const first = disjointSets(edgesOfRuns(context, rows, connectivity), cells.length, { links, context });
  return context.materialize(map(labelOf, { isSet: cells, first }));
}

const labelOf = fn('labelOf', { isSet: bool, first: u32 }, u32, ({ isSet, first }) =>
  select(u32(NO_COMPONENT), first, isSet),
);

/** Packs cells into words of rows. Stores the words. */
function wordsOfRows(context: Context, cells: Column<'bool'>, width: number): RowWords {
  const pitch = Math.ceil(width / 32);
  const bits = bitsOfRows(context, cells, width);
  const word = sequence(bits.length);
  const firsts = context.materialize(map(firstOfWord, { word, bits, width, pitch }));
  return { cells, width, pitch, bits, firsts };
}

/** The packed words of {@link RowWords}. */
export function bitsOfRows(context: Context, cells: Column<'bool'>, width: number): Column<'u32'> {
  const pitch = Math.ceil(width / 32);
  const word = sequence(pitch * Math.ceil(cells.capacity / width));
  return context.materialize(map(packed, { word, cells, width, pitch }));
}

/** For every cell, the first cell of its run; for a cell that is not set, the cell. A view. */
function startsOfRuns({ cells, ...rows }: RowWords): Column<'u32'> {
  return map(startOfRun, { cell: sequence(cells.length), ...rows });
}

/**
 * Edges that join all runs which touch: for every cell, one between the first cells of two runs, or one whose ends are no
 * cells. The column of edges is a view.
 *
 * - Where a cell and the one above it are set, an edge joins their runs, unless the same is true of the cells to the left.
 * - Of 8 neighbours, a cell touches the upper left one by its corner alone if neither the cell above nor the cell to the
 *   left is set. In the other diagonal, the lower cell is the left one; its edge is that of the cell to its right, which is
 *   not set. So no cell has two edges.
 */
function edgesOfRuns(context: Context, { cells, ...rows }: RowWords, connectivity: 4 | 8): Edges {
  const { bits, pitch } = rows;
  const word = sequence(bits.length);
  const edges = context.materialize(map(edgeBits, { word, bits, pitch, corners: Number(connectivity === 8) }));
  // The cell that has an edge may be the one after the last, if that is not at the end of a row.
  const cell = sequence(Math.min(cells.capacity + 1, 2 ** 32 - 1));
  return map(edgeOfCell, { cell, ...rows, edges });
}

/** No cell has this number. */
const NO_CELL = 2 ** 32 - 1;

const packed = fn(
  'rowWord',
  { word: u32, cells: array(bool), width: uniform(u32), pitch: uniform(u32) },
  u32,
  ({ word, cells, width, pitch }) => {
    const { first, left } = placeOf(word, width, pitch);
    const bits = Var(u32(0));
    For(0, left.min(32), (k) => bits.set(bits.or(u32(cells.at(first.add(k))).shl(k))));
    return bits;
  },
);

/** The first cell of a word, and the number of cells from it to the end of the row. */
function placeOf(word: U32, width: U32, pitch: U32): { readonly first: U32; readonly left: U32 } {
  const row = Let(word.div(pitch));
  const x = Let(word.sub(row.mul(pitch)).shl(5));
  return { first: Let(row.mul(width).add(x)), left: width.sub(x) };
}

const firstOfWord = fn(
  'firstOfWord',
  { word: u32, bits: array(u32), width: uniform(u32), pitch: uniform(u32) },
  u32,
  ({ word, bits, width, pitch }) => {
    const first = Var(placeOf(word, width, pitch).first);
    const rowStart = Let(word.sub(word.rem(pitch)));
    const at = Var(word);
    While(
      () => at.gt(rowStart),
      () => {
        // The run goes on in the word before, down to the highest bit that is not set.
        const gaps = Let(bits.at(at.sub(1)).not());
        first.set(first.sub(clz(gaps)));
        at.set(select(rowStart, at.sub(1), gaps.eq(0)));
      },
    );
    return first;
  },
);

const ROW_WORDS = { bits: array(u32), firsts: array(u32), width: uniform(u32), pitch: uniform(u32) };

const startOfRun = fn('startOfRun', { cell: u32, ...ROW_WORDS }, u32, ({ cell, bits, firsts, width, pitch }) => {
  const { word, bit } = bitOf(cell, width, pitch);
  const set = Let(bits.at(word));
  return select(cell, runAt(cell, set, bit, firsts.at(word)), set.shr(bit).and(1).ne(0));
});

/** The word and the bit of a cell. */
function bitOf(cell: U32, width: U32, pitch: U32): { readonly word: U32; readonly bit: U32 } {
  const row = Let(cell.div(width));
  const x = Let(cell.sub(row.mul(width)));
  return { word: Let(row.mul(pitch).add(x.shr(5))), bit: Let(x.and(31)) };
}

/** The first cell of the run of a set cell. `set` is the word of the cell, `first` that of `firsts`. */
function runAt(cell: U32, set: U32, bit: U32, first: U32): U32 {
  const gaps = Let(set.not().and(u32(1).shl(bit).sub(1)));
  return select(cell.sub(bit).add(32).sub(clz(gaps)), first, gaps.eq(0));
}

const edgeBits = fn(
  'edgeBits',
  { word: u32, bits: array(u32), pitch: uniform(u32), corners: uniform(u32) },
  u32,
  ({ word, bits, pitch, corners }) => {
    const isFirst = Let(word.rem(pitch).eq(0));
    const at = (here: U32, exists: Bool): U32 => Let(select(u32(0), bits.at(here), exists));
    const hasUp = Let(word.ge(pitch));
    const here = Let(bits.at(word));
    const above = at(word.sub(pitch), hasUp);
    const left = Let(here.shl(1).or(at(word.sub(1), isFirst.not()).shr(31)));
    const upLeft = Let(above.shl(1).or(at(word.sub(pitch).sub(1), hasUp.and(isFirst.not())).shr(31)));
    const sides = here.and(above).and(left.and(upLeft).not());
    const falling = here.and(upLeft).and(above.or(left).not());
    const rising = left.and(above).and(here.or(upLeft).not());
    return sides.or(select(u32(0), falling.or(rising), corners.ne(0)));
  },
);

const edgeOfCell = fn(
  'edgeOfCell',
  { cell: u32, edges: array(u32), ...ROW_WORDS },
  { a: u32, b: u32 },
  ({ cell, edges, bits, firsts, width, pitch }) => {
    const [a, b] = [Var(u32(NO_CELL)), Var(u32(NO_CELL))];
    const { word, bit } = bitOf(cell, width, pitch);
    If(edges.at(word).shr(bit).and(1).ne(0), () => {
      const isSet = (words: U32): Bool => words.shr(bit).and(1).ne(0);
      const runOf = (of: U32): U32 => {
        const { word, bit } = bitOf(of, width, pitch);
        return runAt(of, bits.at(word), bit, firsts.at(word));
      };
      const here = Let(isSet(bits.at(word)));
      const isFalling = here.and(isSet(bits.at(word.sub(pitch))).not());
      a.set(runOf(Let(select(cell.sub(1), cell, here))));
      b.set(runOf(Let(cell.sub(width).sub(u32(isFalling)))));
    });
    return { a, b };
  },
);
