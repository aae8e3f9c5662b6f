import { If, Let, Var, While } from '../../primitives/functors/control.ts';
import {
  type ArrayParameter,
  array,
  type Functor,
  fn,
  type UniformParameter,
  u32,
  u64,
  uniform,
} from '../../primitives/functors/functor.ts';
import { bitsToI32, bitsToU32 } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { U32Shape, U64Shape } from '../../primitives/functors/standard/shapes.ts';
import type { U64 } from '../../primitives/functors/standard/wide.ts';
import { mulU32 } from '../../primitives/functors/standard/wide-products.ts';
import type { ArrayValue, Bool, I32, U32 } from '../../primitives/functors/value.ts';
import { INSIDE, OUTSIDE, positionFunctors } from './box-position.ts';
import { POLYGON_FIELDS, POLYGON_STRIDE } from './polygon-edges.ts';

/** Number of words of a sampling box: its pair, then left, bottom, right and top. */
export const BOX_STRIDE = 5;

/**
 * States of a sampling box. A box in one of the first three is decided: it adds its pixels to neither area, only to the
 * union, or to both intersection and union.
 */
export const STATES = { outside: 0, union: 1, both: 2, pixelize: 3, partition: 4 } as const;

/** Parameters that select a sub-box: sub-box `number % grid²` of the box with index `number / grid²` in `boxes`. */
export type SubBoxParameters = {
  readonly number: U32Shape;
  readonly boxes: ArrayParameter<'u32'>;
  readonly grid: UniformParameter<'u32'>;
};
type PairParameters = {
  readonly p: ArrayParameter<'u32'>;
  readonly q: ArrayParameter<'u32'>;
  readonly wordsP: ArrayParameter<'u32'>;
  readonly wordsQ: ArrayParameter<'u32'>;
};
const subBox: SubBoxParameters = { number: u32, boxes: array(u32), grid: uniform(u32) };
const pairOf: PairParameters = { p: array(u32), q: array(u32), wordsP: array(u32), wordsQ: array(u32) };

interface SamplingBox {
  readonly pair: U32;
  readonly left: I32;
  readonly bottom: I32;
  readonly right: I32;
  readonly top: I32;
}

/**
 * A sub-box of a box: SubSampBox of the paper. Column i of the grid starts ⌊i · width / grid⌋ pixels from the left of
 * the box, so the widths of columns differ by at most one pixel. The rows of the grid are cut in the same way. If the
 * box is less than `grid` pixels wide or high, some sub-boxes are empty.
 */
function subBoxOf(boxes: ArrayValue<'u32'>, number: U32, grid: U32): SamplingBox {
  const children = grid.mul(grid);
  const parent = number.div(children);
  const child = number.sub(parent.mul(children));
  const row = child.div(grid);
  const column = child.sub(row.mul(grid));
  const word = (offset: number): I32 => bitsToI32(boxes.at(parent.mul(BOX_STRIDE).add(offset)));
  const [left, bottom, right, top] = [word(1), word(2), word(3), word(4)];
  const [width, height] = [right, top].map((end, i) => lengthOf([left, bottom][i]!, end)) as [U32, U32];
  return {
    pair: boxes.at(parent.mul(BOX_STRIDE)),
    left: cutAt(left, width, grid, column),
    bottom: cutAt(bottom, height, grid, row),
    right: cutAt(left, width, grid, column.add(1)),
    top: cutAt(bottom, height, grid, row.add(1)),
  };
}

/** Computes low + ⌊index · length / grid⌋ without the product, which could exceed 2³². */
function cutAt(low: I32, length: U32, grid: U32, index: U32): I32 {
  const quotient = length.div(grid);
  const rest = length.sub(quotient.mul(grid));
  return low.add(bitsToI32(quotient.mul(index).add(rest.mul(index).div(grid))));
}

/** Length of a range of pixels, up to 2³¹. It is 0 if `high` is below `low`. */
function lengthOf(low: I32, high: I32): U32 {
  return select(u32(0), bitsToU32(high.sub(low)), high.gt(low));
}

/** Number of pixels of a box: BoxSize of the paper. */
function sizeOf({ left, bottom, right, top }: SamplingBox): U64 {
  return mulU32({ a: lengthOf(left, right), b: lengthOf(bottom, top) });
}

function boxWord(box: SamplingBox, offset: U32): U32 {
  const words = [box.pair, ...[box.left, box.bottom, box.right, box.top].map(bitsToU32)];
  return words.reduce((found, word, i) => select(found, word, offset.eq(i)), words[0]!);
}

type StartWordParameters = PairParameters & {
  readonly index: U32Shape;
  readonly firstPair: UniformParameter<'u32'>;
  readonly overlap: UniformParameter<'u32'>;
};

/**
 * A word of the initial box of a pair: the MBR (minimum bounding rectangle) of both polygons, or the intersection of
 * their MBRs.
 */
export const startWord: Functor<StartWordParameters, U32Shape> = fn(
  'startWord',
  { index: u32, firstPair: uniform(u32), overlap: uniform(u32), ...pairOf },
  u32,
  ({ index, firstPair, overlap, ...polygons }) => {
    const row = index.div(BOX_STRIDE);
    return boxWord(startBox(row.add(firstPair), overlap.ne(0), polygons), index.sub(row.mul(BOX_STRIDE)));
  },
);

type StartSizeParameters = PairParameters & { readonly pair: U32Shape; readonly overlap: UniformParameter<'u32'> };

/** The number of pixels of a pair's initial box. */
export const startSize: Functor<StartSizeParameters, U64Shape> = fn(
  'startSize',
  { pair: u32, overlap: uniform(u32), ...pairOf },
  u64,
  ({ pair, overlap, ...polygons }) => sizeOf(startBox(pair, overlap.ne(0), polygons)),
);

type PairArrays = { readonly [K in keyof PairParameters]: ArrayValue<'u32'> };

function startBox(pair: U32, overlap: Bool, { p, q, wordsP, wordsQ }: PairArrays): SamplingBox {
  const side = (words: ArrayValue<'u32'>, polygon: U32, field: number): I32 =>
    bitsToI32(words.at(polygon.mul(POLYGON_STRIDE).add(field)));
  const min = (field: number): I32 => {
    const [a, b] = [side(wordsP, p.at(pair), field), side(wordsQ, q.at(pair), field)];
    return select(a.min(b), a.max(b), overlap);
  };
  const max = (field: number): I32 => {
    const [a, b] = [side(wordsP, p.at(pair), field), side(wordsQ, q.at(pair), field)];
    return select(a.max(b), a.min(b), overlap);
  };
  const { left, bottom, right, top } = POLYGON_FIELDS;
  return { pair, left: min(left), bottom: min(bottom), right: max(right), top: max(top) };
}

type ChildWordParameters = Omit<SubBoxParameters, 'number'> & {
  readonly index: U32Shape;
  readonly chosen: ArrayParameter<'u32'>;
};

/** One word of the next level's table of boxes. The table has the sub-boxes that are partitioned further. */
export const childWord: Functor<ChildWordParameters, U32Shape> = fn(
  'childWord',
  { index: u32, chosen: array(u32), boxes: subBox.boxes, grid: subBox.grid },
  u32,
  ({ index, chosen, boxes, grid }) => {
    const row = index.div(BOX_STRIDE);
    return boxWord(subBoxOf(boxes, chosen.at(row), grid), index.sub(row.mul(BOX_STRIDE)));
  },
);

type StateParameters = SubBoxParameters & { readonly threshold: UniformParameter<'u32'> };

/** The state of a box by its number of pixels alone, before its position relative to the polygons is tested. */
export const stateBySize: Functor<StateParameters, U32Shape> = fn(
  'stateBySize',
  { ...subBox, threshold: uniform(u32) },
  u32,
  ({ number, boxes, grid, threshold }) => openState(sizeOf(subBoxOf(boxes, number, grid)), threshold),
);

function openState(size: U64, threshold: U32): U32 {
  const isSmall = size.hi.eq(0).and(size.lo.lt(threshold));
  const isEmpty = size.hi.or(size.lo).eq(0);
  return select(select(u32(STATES.partition), STATES.pixelize, isSmall), STATES.outside, isEmpty);
}

type ContributionParameters = SubBoxParameters & { readonly state: U32Shape; readonly union: UniformParameter<'u32'> };
type Contribution = { readonly pair: U32Shape; readonly lo: U32Shape; readonly hi: U32Shape };

/**
 * The number of pixels that a box adds to an area of its pair: to the union if `union` is 1, else to the intersection.
 * In the paper, this number is BoxContribute times BoxSize.
 */
export const contribution: Functor<ContributionParameters, Contribution> = fn(
  'contribution',
  { ...subBox, state: u32, union: uniform(u32) },
  { pair: u32, lo: u32, hi: u32 },
  ({ number, boxes, grid, state, union }) => {
    const box = subBoxOf(boxes, number, grid);
    const size = sizeOf(box);
    const counts = state.eq(STATES.both).or(state.eq(STATES.union).and(union.ne(0)));
    return { pair: box.pair, lo: select(u32(0), size.lo, counts), hi: select(u32(0), size.hi, counts) };
  },
);

type BoxStateParameters = StateParameters & PairParameters;
type PixelCountParameters = PairParameters &
  Omit<SubBoxParameters, 'number'> & {
    readonly index: U32Shape;
    readonly chosen: ArrayParameter<'u32'>;
    readonly firstChosen: UniformParameter<'u32'>;
    readonly lanes: UniformParameter<'u32'>;
  };
type PixelCounts = { readonly pair: U32Shape; readonly both: U32Shape; readonly either: U32Shape };

/** The functors that test boxes and pixels against polygons. */
export interface SamplingFunctors {
  /** The state of a sub-box by its position: BoxContinue and BoxContribute of the paper. */
  readonly boxState: Functor<BoxStateParameters, U32Shape>;
  /**
   * Counts pixels of a small box, in one of the `lanes` threads that share the box. The thread examines every
   * `lanes`-th pixel. It counts the pixels in both polygons and, if the union is measured directly, the pixels in at
   * least one polygon.
   */
  readonly pixelCounts: Functor<PixelCountParameters, PixelCounts>;
}

/**
 * Returns the functors for rectilinear polygons if `rectilinear`, else for all polygons. The functors measure the
 * intersection and, if `direct`, also the union.
 */
export function samplingFunctors(rectilinear: boolean, direct: boolean): SamplingFunctors {
  const key = `${rectilinear}, ${direct}`;
  const known = defined.get(key) ?? {
    boxState: defineBoxState(rectilinear, direct),
    pixelCounts: definePixelCounts(rectilinear, direct),
  };
  defined.set(key, known);
  return known;
}

const defined = new Map<string, SamplingFunctors>();

function defineBoxState(rectilinear: boolean, direct: boolean): SamplingFunctors['boxState'] {
  const { boxPosition } = positionFunctors(rectilinear);
  return fn(
    'boxState',
    { ...subBox, threshold: uniform(u32), ...pairOf },
    u32,
    ({ number, boxes, grid, threshold, p, q, wordsP, wordsQ }) => {
      const { pair, ...box } = subBoxOf(boxes, number, grid);
      const open = openState(sizeOf({ pair, ...box }), threshold);
      const state = Var(open);
      If(open.ne(STATES.outside), () => {
        const inP = boxPosition({ polygon: p.at(pair), ...box, words: wordsP });
        const inQ = Var(u32(OUTSIDE));
        const lookAtQ = (): void => inQ.set(boxPosition({ polygon: q.at(pair), ...box, words: wordsQ }));
        // A box outside p adds nothing to the intersection, so its position in q matters only for the union.
        if (direct) lookAtQ();
        else If(inP.ne(OUTSIDE), lookAtQ);
        state.set(decide(inP, inQ, open, direct));
      });
      return state;
    },
  );
}

function decide(inP: U32, inQ: U32, open: U32, direct: boolean): U32 {
  const bothInside = inP.and(inQ).eq(INSIDE);
  if (!direct) {
    const anyOutside = inP.eq(OUTSIDE).or(inQ.eq(OUTSIDE));
    return select(select(open, STATES.outside, anyOutside), STATES.both, bothInside);
  }
  const known = inP.le(INSIDE).and(inQ.le(INSIDE));
  const decided = select(select(u32(STATES.outside), STATES.union, inP.or(inQ).ne(OUTSIDE)), STATES.both, bothInside);
  return select(open, decided, known);
}

function definePixelCounts(rectilinear: boolean, direct: boolean): SamplingFunctors['pixelCounts'] {
  const { pixelInPolygon } = positionFunctors(rectilinear);
  const { boxes, grid } = subBox;
  return fn(
    'pixelCounts',
    { index: u32, chosen: array(u32), firstChosen: uniform(u32), lanes: uniform(u32), boxes, grid, ...pairOf },
    { pair: u32, both: u32, either: u32 },
    ({ index, chosen, firstChosen, lanes, boxes, grid, p, q, wordsP, wordsQ }) => {
      const block = index.div(lanes);
      const { pair, ...box } = subBoxOf(boxes, chosen.at(block.add(firstChosen)), grid);
      const width = lengthOf(box.left, box.right);
      const size = width.mul(lengthOf(box.bottom, box.top));
      const pixel = Var(index.sub(block.mul(lanes)));
      const [both, either] = [Var(u32(0)), Var(u32(0))];
      While(
        () => pixel.lt(size),
        () => {
          const row = pixel.div(width);
          const x = box.left.add(bitsToI32(pixel.sub(row.mul(width))));
          const y = box.bottom.add(bitsToI32(row));
          const inP = Let(pixelInPolygon({ polygon: p.at(pair), x, y, words: wordsP }));
          const lookAtQ = (): Bool => pixelInPolygon({ polygon: q.at(pair), x, y, words: wordsQ });
          if (direct) {
            const inQ = lookAtQ();
            both.set(both.add(u32(inP.and(inQ))));
            either.set(either.add(u32(inP.or(inQ))));
          } else If(inP, () => both.set(both.add(u32(lookAtQ()))));
          pixel.set(pixel.add(lanes));
        },
      );
      return { pair, both, either };
    },
  );
}
