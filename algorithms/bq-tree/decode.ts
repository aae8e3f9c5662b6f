import { aColumn, aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aRecord } from '../../primitives/checks/kinds.ts';
import {
  array,
  bool,
  type Column,
  type Context,
  constant,
  exclusiveScan,
  For,
  fill,
  fn,
  If,
  Let,
  map,
  mortonEncode,
  narrow,
  popcount,
  saturatingPlus,
  scatterReduce,
  select,
  sequence,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import {
  type BqTreeOptions,
  type BqTrees,
  type CellFormat,
  type Layout,
  layoutOf,
  someTreeOptions,
  tilesIn,
} from './layout.ts';
import { entryByte, NODE_BYTES, type Nodes, node, type PlacedNodes, placeLevel, SIGNATURE_BYTES } from './nodes.ts';

/** The cells of tiles whose BQ-trees were read. */
export interface BqTreeTiles {
  /** The cells tile by tile, row by row within a tile, packed in the format of the cells. */
  readonly cells: Column<'u32'>;
  /** For each tile, whether its tree is whole and takes as many words as its length says. */
  readonly isSound: Column<'bool'>;
}

/**
 * Decodes the tiles that {@link encodeBqTrees} has encoded, level by level, all tiles together.
 *
 * - Work O(n · planes), span O(log n). Deterministic: the same cells on every backend.
 * - Without tiles, there are no cells. Only the device needs to know the number of words.
 * - Any words are decoded, in the same time and memory, as these depend on the number of tiles alone: as many cells as the
 *   tiles have, within their format. Where `isSound` is false, the tree was cut off, takes fewer or more words than its
 *   length says, or has a state 3, which no tree has; the cells of such a tile are unspecified but the same on every
 *   backend. Of other changes, only a checksum can tell.
 *
 * Source: Zhang, You and Gruenwald, Parallel quadtree coding of large-scale raster geospatial data on GPGPUs, 2011.
 *
 * @throws `ArgumentError` `bq-tree/length` if only the device knows the number of tiles, `column/size` if they have 2^31
 * cells or more.
 * @example
 * const trees = { words: ctx.column(Uint32Array.of(513, 65280)), lengths: ctx.column(Uint32Array.of(2)) };
 * const { cells, isSound } = decodeBqTrees(ctx, trees, { side: 4, as: 'u8' });
 * const read = await ctx.read({ cells, isSound });
 * [read.isSound, read.cells.subarray(6, 10)]; // [Uint8Array [1], Uint32Array [1, 1, 3, 3]]
 */
export function decodeBqTrees(context: Context, trees: BqTrees, options: BqTreeOptions): BqTreeTiles {
  requireArguments('decodeBqTrees', { context, trees, options }, ARGUMENTS);
  const layout = layoutOf(options);
  const { planes, levels, headerWords } = layout;
  const tiles = tilesIn('decodeBqTrees', 'trees.lengths', trees.lengths, 1, layout);
  return context.scope(() => {
    const { words, lengths } = context.materialize({ words: trees.words, lengths: trees.lengths });
    const starts = exclusiveScan<typeof u32>(lengths, saturatingPlus);
    const stored = { words, starts };
    const contradictions = fill(context, u32, 0, tiles);
    let nodes: Nodes = context.materialize(map(rootNode, { tile: sequence(tiles), ...stored, planes, headerWords }));
    noteContradictions(nodes, 0, contradictions);
    let end: Column<'u32'> = constant(u32, 4 * headerWords, tiles);
    for (let level = 0; level < levels; level++) {
      const parents = placeLevel(context, nodes, { tiles, start: end, bytes: NODE_BYTES });
      const at = sequence(tiles * 4 ** (level + 1));
      nodes = context.materialize(map(childNode, { at, ...stored, ...entriesOf(parents), ones: parents.ones, level }));
      noteContradictions(nodes, level + 1, contradictions);
      end = parents.end;
    }
    const last = placeLevel(context, nodes, { tiles, start: end, bytes: SIGNATURE_BYTES });
    const signatures = signaturesOf(context, last, stored, tiles, layout);
    const i = sequence(tiles * layout.cells);
    const values = map(CELL_VALUES[options.as], { i, signatures, levels });
    return {
      cells: options.as === 'u32' ? context.materialize(values) : narrow(values, options.as),
      isSound: context.materialize(
        map(isSound, { start: starts, length: lengths, end: last.end, contradictions, words }),
      ),
    };
  });
}

const ARGUMENTS = {
  context: aContext,
  trees: aRecord<BqTrees>({ words: aColumn('u32'), lengths: aColumn('u32') }),
  options: someTreeOptions,
};

/** Adds the planes of each tile that are both uniform and mixed in a node of a level. */
function noteContradictions({ ones, mixed }: Nodes, level: number, into: Column<'u32'>): void {
  const { tile, planes } = map(contradiction, { at: sequence(ones.length), ones, mixed, level });
  scatterReduce(planes, tile, 'or', into);
}

const contradiction = fn(
  { at: u32, ones: u32, mixed: u32, level: uniform(u32) },
  { tile: u32, planes: u32 },
  ({ at, ones, mixed, level }) => {
    const planes = Let(ones.and(mixed));
    return { tile: select(u32(0xffffffff), at.shr(level.mul(2)), planes.ne(0)), planes };
  },
);

/** The trees, and the place of each tile's first word. */
interface StoredTrees {
  readonly words: Column<'u32'>;
  readonly starts: Column<'u32'>;
}

function entriesOf({ mixed, upTo, base }: PlacedNodes): Omit<PlacedNodes, 'ones' | 'end'> {
  return { mixed, upTo, base };
}

const tree = { words: array(u32), starts: array(u32) };
const entries = { mixed: array(u32), upTo: array(u32), base: array(u32) };

const rootNode = fn(
  { tile: u32, ...tree, planes: uniform(u32), headerWords: uniform(u32) },
  node,
  ({ tile, words, starts, planes, headerWords }) => {
    const start = Let(starts.at(tile));
    const [first, second] = [Let(words.at(start)), words.at(start.add(1))];
    const isApart = headerWords.eq(2);
    const low = u32(0xffffffff).shr(u32(32).sub(planes));
    return { ones: first.and(low), mixed: select(first.shr(planes).and(low), second, isApart) };
  },
);

/** A node takes from its parent which planes are uniform, and from the parent's entries those which are mixed there. */
const childNode = fn(
  { at: u32, ...tree, ...entries, ones: array(u32), level: uniform(u32) },
  node,
  ({ at, words, starts, mixed, upTo, base, ones: onesOfParents, level }) => {
    const parent = Let(at.shr(2));
    const tile = Let(parent.shr(level.mul(2)));
    const start = Let(starts.at(tile));
    const byte = Var(entryByte({ upTo, base, tile, at: parent, bytes: NODE_BYTES }));
    const rest = Var(mixed.at(parent));
    const [ones, mixedHere] = [Var(onesOfParents.at(parent)), Var(u32(0))];
    For(0, popcount(rest), () => {
      const plane = Let(rest.and(u32(0).sub(rest)));
      const shift = byte.and(3).mul(8).add(at.and(3).mul(2));
      const state = Let(
        words
          .at(start.add(byte.shr(2)))
          .shr(shift)
          .and(3),
      );
      ones.set(ones.or(select(u32(0), plane, state.and(1).ne(0))));
      mixedHere.set(mixedHere.or(select(u32(0), plane, state.and(2).ne(0))));
      byte.set(byte.add(1));
      rest.set(rest.and(rest.sub(1)));
    });
    return { ones, mixed: mixedHere };
  },
);

/** The signatures of all last quadrants, also of uniform ones, in the order in which encoding has them. */
function signaturesOf(
  context: Context,
  last: PlacedNodes,
  trees: StoredTrees,
  tiles: number,
  { planes, quadrants, levels }: Layout,
): Column<'u32'> {
  const half = planes / 2;
  const i = sequence(tiles * quadrants * half);
  return context.materialize(map(signatureWord, { i, ...trees, ...entriesOf(last), ones: last.ones, half, levels }));
}

const signatureWord = fn(
  { i: u32, ...tree, ...entries, ones: array(u32), half: uniform(u32), levels: uniform(u32) },
  u32,
  ({ i, words, starts, mixed, upTo, base, ones, half, levels }) => {
    const quadrant = Let(i.div(half));
    const q = i.sub(quadrant.mul(half));
    const lowBits = u32(1).shl(levels).sub(1);
    const tile = Let(quadrant.shr(levels.mul(2)));
    const place = mortonEncode({ x: quadrant.and(lowBits), y: quadrant.shr(levels).and(lowBits) });
    const at = Let(tile.shl(levels.mul(2)).add(place));
    const mixedHere = Let(mixed.at(at));
    const onesHere = Let(ones.at(at));
    const first = Let(entryByte({ upTo, base, tile, at, bytes: SIGNATURE_BYTES }));
    const word = Var(u32(0));
    for (const [plane, shift] of [
      [q, 0],
      [q.add(half), 16],
    ] as const) {
      If(onesHere.shr(plane).and(1).ne(0), () => word.set(word.or((0xffff << shift) >>> 0)));
      If(mixedHere.shr(plane).and(1).ne(0), () => {
        const rank = popcount(mixedHere.and(u32(1).shl(plane).sub(1)));
        const byte = Let(first.add(rank.mul(SIGNATURE_BYTES)));
        const both = words.at(starts.at(tile).add(byte.shr(2)));
        word.set(word.or(both.shr(byte.and(2).mul(8)).and(0xffff).shl(shift)));
      });
    }
    return word;
  },
);

/** The value of cell `i`, whose bit of every plane is in the signatures of its quadrant. */
function cellValueOf(planes: number) {
  const half = planes / 2;
  return fn(
    `cellValueOf${planes}`,
    { i: u32, signatures: array(u32), levels: uniform(u32) },
    u32,
    ({ i, signatures, levels }) => {
      // Rows of quadrants of all tiles follow each other, as rows of cells do.
      const row = i.shr(levels.add(2));
      const column = i.sub(row.shl(levels.add(2)));
      const first = row.shr(2).shl(levels).add(column.shr(2)).mul(half);
      const bit = row.and(3).mul(4).add(column.and(3));
      // A loop over the planes would take twice the time.
      let both = u32(0);
      for (let q = 0; q < half; q++) {
        both = both.or(signatures.at(first.add(q)).shr(bit).and(0x10001).shl(q));
      }
      return half === 16 ? both : both.and(2 ** half - 1).or(both.shr(16 - half));
    },
  );
}

const CELL_VALUES: Record<CellFormat, ReturnType<typeof cellValueOf>> = {
  u8: cellValueOf(8),
  u16: cellValueOf(16),
  u32: cellValueOf(32),
};

const isSound = fn(
  { start: u32, length: u32, end: u32, contradictions: u32, words: array(u32) },
  bool,
  ({ start, length, end, contradictions, words }) => {
    const isThere = start.le(words.length()).and(length.le(words.length().sub(start)));
    return contradictions
      .eq(0)
      .and(length.eq(end.add(3).shr(2)))
      .and(isThere);
  },
);
