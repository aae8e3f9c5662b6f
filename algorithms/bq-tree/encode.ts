import { aColumn, aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import {
  type ArgumentsOf,
  type ArrayValue,
  array,
  type Column,
  type Context,
  constant,
  exclusiveScan,
  expand,
  For,
  fn,
  If,
  Let,
  map,
  mortonDecode,
  plus,
  popcount,
  scatterReduce,
  select,
  sequence,
  type U32,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import {
  type BqTreeOptions,
  type BqTrees,
  type Layout,
  layoutOf,
  maxWords,
  someTreeOptions,
  tilesIn,
} from './layout.ts';
import { entryByte, NODE_BYTES, type Nodes, node, type PlacedNodes, placeLevel, SIGNATURE_BYTES } from './nodes.ts';

/**
 * Encodes the tiles of a raster as BQ-trees (bitplane quadtrees): a quadtree for each bit plane of a tile. A quadrant is
 * split until the plane is uniform in it, or it has 4 × 4 cells, whose 16 bits are stored as a signature. Trees are small
 * where many planes are uniform in large squares, as in land cover, masks and classes. Noisy planes take up to an eighth
 * more than their bits. {@link decodeBqTrees} is the inverse.
 *
 * The cells are tile by tile, row by row within a tile; a raster whose sides are no multiples of a tile's is padded, best
 * with the nearest cells. Of each cell, the lowest 8, 16 or 32 bits count. {@link BqTrees} says what a tree looks like.
 *
 * - Work O(n · planes), span O(log n). Deterministic: the same words on every backend. Takes about 3 bytes of memory for
 *   each cell of u8, 6 of u16 and 10 of u32, beside the cells.
 * - Without cells, there are no trees. Only the device knows the number of words, but it is at most 1.2 times the size of
 *   the cells, and two words more for each tile.
 *
 * Source: Zhang, You and Gruenwald, Parallel quadtree coding of large-scale raster geospatial data on GPGPUs, 2011.
 *
 * @throws `ArgumentError` `bq-tree/cells` if there is a part of a tile, `bq-tree/length` if only the device knows the
 * number of cells, `column/size` if there are 2^31 or more.
 * @example
 * const cells = ctx.column(Uint8Array.of(1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3));
 * const trees = encodeBqTrees(ctx, cells, { side: 4, as: 'u8' }); // plane 0 is 1 everywhere, plane 1 in two of four rows
 * await ctx.read({ ...trees }); // { words: Uint32Array [513, 65280], lengths: Uint32Array [2] }
 */
export function encodeBqTrees(context: Context, cells: Column<'u32'>, options: BqTreeOptions): BqTrees {
  requireArguments('encodeBqTrees', { context, cells, options }, ARGUMENTS);
  const layout = layoutOf(options);
  const tiles = tilesIn('encodeBqTrees', 'cells', cells, layout.cells, layout);
  return context.scope(() => {
    const signatures = signaturesOf(context, cells, tiles, layout);
    const levels = placedLevels(context, nodesOf(context, signatures, tiles, layout), tiles, layout);
    const { end } = levels.at(-1)!;
    const lengths = context.materialize(map(wordsIn, { bytes: end }));
    const words = expand({ length: lengths }, lengths, noBits, { capacity: tiles * maxWords(layout) });
    const starts = exclusiveScan<typeof u32>(lengths, plus(u32));
    const header = map(headerEntry, {
      i: sequence(tiles * layout.headerWords),
      ...{ starts, ones: levels[0]!.ones, mixed: levels[0]!.mixed },
      ...{ planes: layout.planes, headerWords: layout.headerWords },
    });
    scatterReduce(header.bits, header.word, 'or', words);
    for (const [level, placed] of levels.entries()) {
      const rows = {
        i: sequence(placed.mixed.capacity * layout.planes),
        ...{ starts, mixed: placed.mixed, upTo: placed.upTo, base: placed.base },
        ...{ planes: layout.planes, level },
      };
      const below = levels[level + 1];
      const entries =
        below === undefined
          ? map(signatureEntry, { ...rows, signatures })
          : map(nodeEntry, { ...rows, childOnes: below.ones, childMixed: below.mixed });
      scatterReduce(entries.bits, entries.word, 'or', words);
    }
    return { words, lengths };
  });
}

const ARGUMENTS = { context: aContext, cells: aColumn('u32'), options: someTreeOptions };

/**
 * The signatures of all last quadrants, quadrants in row order, two to a word: in word q of a quadrant, those of the
 * planes q and q + planes / 2.
 */
function signaturesOf(context: Context, cells: Column<'u32'>, tiles: number, layout: Layout): Column<'u32'> {
  const half = layout.planes / 2;
  const i = sequence(tiles * layout.quadrants * half);
  return context.materialize(map(signatureWord, { i, cells, half, levels: layout.levels }));
}

const signatureWord = fn(
  { i: u32, cells: array(u32), half: uniform(u32), levels: uniform(u32) },
  u32,
  ({ i, cells, half, levels }) => {
    const quadrant = i.div(half);
    const q = i.sub(quadrant.mul(half));
    // Rows of quadrants of all tiles follow each other, as rows of cells do.
    const row = quadrant.shr(levels);
    const column = quadrant.sub(row.shl(levels));
    const side = u32(4).shl(levels);
    const first = row.mul(4).mul(side).add(column.mul(4));
    const low = u32(1).shl(half).sub(1);
    const word = Var(u32(0));
    for (let bit = 0; bit < 16; bit++) {
      const cell = Let(cells.at(first.add(side.mul(bit >> 2)).add(bit & 3)));
      const planes = cell.and(low).or(cell.shr(half).shl(16));
      word.set(word.or(planes.shr(q).and(0x10001).shl(bit)));
    }
    return word;
  },
);

/** The nodes of all levels, the root's first, the last quadrants' last. */
function nodesOf(context: Context, signatures: Column<'u32'>, tiles: number, layout: Layout): Nodes[] {
  const { planes, levels, quadrants } = layout;
  const at = sequence(tiles * quadrants);
  let nodes = context.materialize(map(quadrantNode, { at, signatures, half: planes / 2, levels }));
  const all = [nodes];
  for (let level = levels - 1; level >= 0; level--) {
    nodes = context.materialize(map(parentNode, { at: sequence(tiles * 4 ** level), ...nodes }));
    all.unshift(nodes);
  }
  return all;
}

/** The word of {@link signaturesOf} with the signature of a plane, and how far it is shifted up there. */
function signatureAt(at: U32, plane: U32, half: U32, levels: U32): { readonly word: U32; readonly shift: U32 } {
  const place = mortonDecode({ code: at.and(u32(1).shl(levels.mul(2)).sub(1)) });
  const firstRow = at.shr(levels.mul(2)).shl(levels);
  const quadrant = firstRow.add(place.y).shl(levels).add(place.x);
  const isHigh = plane.ge(half);
  return {
    word: quadrant.mul(half).add(select(plane, plane.sub(half), isHigh)),
    shift: select(u32(0), u32(16), isHigh),
  };
}

const quadrantNode = fn(
  { at: u32, signatures: array(u32), half: uniform(u32), levels: uniform(u32) },
  node,
  ({ at, signatures, half, levels }) => {
    const first = Let(signatureAt(at, u32(0), half, levels).word);
    const [ones, some] = [Var(u32(0)), Var(u32(0))];
    For(0, half, (q) => {
      const word = Let(signatures.at(first.add(q)));
      for (const [signature, plane] of [
        [word.and(0xffff), q],
        [word.shr(16), q.add(half)],
      ] as const) {
        ones.set(ones.or(u32(signature.eq(0xffff)).shl(plane)));
        some.set(some.or(u32(signature.ne(0)).shl(plane)));
      }
    });
    return { ones, mixed: some.and(ones.not()) };
  },
);

const parentNode = fn({ at: u32, ones: array(u32), mixed: array(u32) }, node, ({ at, ones, mixed }) => {
  const first = at.mul(4);
  let [all, some]: [U32, U32] = [u32(0xffffffff), u32(0)];
  for (let child = 0; child < 4; child++) {
    const onesOfChild = ones.at(first.add(child));
    all = all.and(onesOfChild);
    some = some.or(onesOfChild).or(mixed.at(first.add(child)));
  }
  return { ones: all, mixed: some.and(all.not()) };
});

/** The levels with the places of their entries, in the order of their entries. */
function placedLevels(context: Context, levels: readonly Nodes[], tiles: number, layout: Layout): PlacedNodes[] {
  const placed: PlacedNodes[] = [];
  for (const [level, nodes] of levels.entries()) {
    const start = placed.at(-1)?.end ?? constant(u32, 4 * layout.headerWords, tiles);
    const bytes = level === layout.levels ? SIGNATURE_BYTES : NODE_BYTES;
    placed.push(placeLevel(context, nodes, { tiles, start, bytes }));
  }
  return placed;
}

const wordsIn = fn({ bytes: u32 }, u32, ({ bytes }) => bytes.add(3).shr(2));

const noBits = fn({ rank: u32 }, u32, () => u32(0));

/** The bits of some entries, and their word among the words of all trees. */
const entry = { word: u32, bits: u32 };

/** The states of the roots: a bit for each plane that is set everywhere, then a bit for each mixed plane. */
const headerEntry = fn(
  { i: u32, starts: array(u32), ones: array(u32), mixed: array(u32), planes: uniform(u32), headerWords: uniform(u32) },
  entry,
  ({ i, starts, ones, mixed, planes, headerWords }) => {
    const tile = i.div(headerWords);
    const rank = i.sub(tile.mul(headerWords));
    const together = ones.at(tile).or(mixed.at(tile).shl(planes));
    const apart = select(ones.at(tile), mixed.at(tile), rank.eq(1));
    return { word: starts.at(tile).add(rank), bits: select(together, apart, headerWords.eq(2)) };
  },
);

const entryParameters = {
  ...{ i: u32, starts: array(u32), mixed: array(u32), upTo: array(u32), base: array(u32) },
  ...{ planes: uniform(u32), level: uniform(u32) },
};

/** Row `i` stands for plane `i % planes` of node `i / planes`. If the plane is not mixed there, it has no entry. */
function entryOf(
  { i, starts, mixed, upTo, base, planes, level }: ArgumentsOf<typeof entryParameters>,
  bytes: number,
  entryValue: (at: U32, plane: U32) => U32,
): { readonly word: U32; readonly bits: U32 } {
  const at = Let(i.div(planes));
  const plane = Let(i.sub(at.mul(planes)));
  const [word, bits] = [Var(u32(NOWHERE)), Var(u32(0))];
  const isMixed = Let(mixed.at(at));
  If(isMixed.shr(plane).and(1).ne(0), () => {
    const tile = at.shr(level.mul(2));
    const rank = popcount(isMixed.and(u32(1).shl(plane).sub(1)));
    const byte = Let(entryByte({ upTo, base, tile, at, bytes }).add(rank.mul(bytes)));
    word.set(starts.at(tile).add(byte.shr(2)));
    bits.set(entryValue(at, plane).shl(byte.and(3).mul(8)));
  });
  return { word, bits };
}

/** A word that no trees have. */
const NOWHERE = 2 ** 32 - 1;

/** The byte of a node: two bits for each child, 0 if the plane is nowhere set in it, 1 if everywhere, 2 if mixed. */
const nodeEntry = fn({ ...entryParameters, childOnes: array(u32), childMixed: array(u32) }, entry, (given) => {
  const { childOnes, childMixed } = given;
  return entryOf(given, NODE_BYTES, (at, plane) => {
    let byte = u32(0);
    for (let child = 0; child < 4; child++) {
      const of = (planes: ArrayValue<'u32'>) => planes.at(at.mul(4).add(child)).shr(plane).and(1);
      byte = byte.or(
        of(childOnes)
          .or(of(childMixed).shl(1))
          .shl(2 * child),
      );
    }
    return byte;
  });
});

const signatureEntry = fn({ ...entryParameters, signatures: array(u32) }, entry, (given) => {
  const { signatures, planes, level } = given;
  return entryOf(given, SIGNATURE_BYTES, (at, plane) => {
    const { word, shift } = signatureAt(at, plane, planes.shr(1), level);
    return signatures.at(word).shr(shift).and(0xffff);
  });
});
