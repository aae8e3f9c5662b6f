import fc from 'fast-check';
import type { PolygonSide } from '../../algorithms/cross-compare/tile-comparison.ts';
import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import { regionsOf } from '../../algorithms/pixelbox/regions.ts';
import { gridPolygons } from '../../algorithms/pixelbox/snap-to-pixels.ts';
import type { TextColumn } from '../../algorithms/text-column.ts';
import { polygonColumns, traceMask } from './rectilinear-shapes.ts';

/** A segmentation as a label image. The label of polygon `k` is k + 1; 0 is the background. */
export interface LabelImage {
  readonly width: number;
  readonly height: number;
  readonly labels: readonly number[];
  /** Number of polygons, including those without a pixel. */
  readonly polygons: number;
}

/** Two segmentations of the same image. */
export interface LabelPair {
  readonly p: LabelImage;
  readonly q: LabelImage;
}

/**
 * Pairs of label images of up to 12 × 8 pixels, with up to 6 polygons each. A polygon may consist of several separate
 * pieces.
 */
export const labelPair: fc.Arbitrary<LabelPair> = fc
  .tuple(fc.nat({ max: 12 }), fc.nat({ max: 8 }))
  .chain(([width, height]) => fc.record({ p: labelImage(width, height), q: labelImage(width, height) }));

function labelImage(width: number, height: number): fc.Arbitrary<LabelImage> {
  const area = width * height;
  return fc
    .nat({ max: 6 })
    .chain((polygons) =>
      fc
        .array(fc.nat({ max: polygons }), { minLength: area, maxLength: area })
        .map((labels) => ({ width, height, labels, polygons })),
    );
}

/** Traces the outlines of all polygons of a label image, in pixel coordinates. */
function outlines({ width, height, labels, polygons }: LabelImage): Polygons {
  const masks = Array.from({ length: polygons }, (_, polygon) => ({
    width,
    rows: Uint32Array.from({ length: height }, (_, y) =>
      labels
        .slice(y * width, (y + 1) * width)
        .reduce((row, label, x) => (label === polygon + 1 ? row | (1 << x) : row), 0),
    ),
  }));
  const lines = {
    x: Float64Array.from({ length: width + 1 }, (_, x) => x),
    y: Float64Array.from({ length: height + 1 }, (_, y) => y),
  };
  return polygonColumns(
    masks.map((mask) => traceMask(mask, PLAIN)),
    lines,
  );
}

const PLAIN = { seed: 1, collinear: false, repeated: false, crossing: false, spikes: false };

/**
 * Converts a label image to one of the two polygon sets that the cross-comparison compares. The id of polygon `k` is
 * its label, k + 1.
 */
export function sideOf(image: LabelImage): PolygonSide {
  return {
    ids: texts(Array.from({ length: image.polygons }, (_, polygon) => String(polygon + 1))),
    regions: regionsOf(gridPolygons(outlines(image))),
    notes: [],
  };
}

/** Converts texts to a column. */
export function texts(all: readonly string[]): TextColumn {
  const encoded = all.map((text) => new TextEncoder().encode(text));
  const starts = Uint32Array.from([0, ...encoded.keys()], (_, i) =>
    encoded.slice(0, i).reduce((sum, { length }) => sum + length, 0),
  );
  return { bytes: Uint8Array.from(encoded.flatMap((bytes) => [...bytes])), starts };
}

/** The expected areas of two label images, in pixels. */
export interface Counted {
  /** Pairs of polygons that share pixels, in ascending order; polygons are numbered from 0. */
  readonly pairs: readonly {
    readonly p: number;
    readonly q: number;
    readonly intersection: number;
    readonly union: number;
  }[];
  readonly missing: { readonly p: readonly number[]; readonly q: readonly number[] };
}

/** Counts the pixels of every label and of every pair of labels. */
export function countLabels({ p, q }: LabelPair): Counted {
  const pixels = (image: LabelImage, polygon: number): number =>
    image.labels.filter((label) => label === polygon + 1).length;
  const common = (i: number, j: number): number =>
    p.labels.filter((label, at) => label === i + 1 && q.labels[at] === j + 1).length;
  const all = [...Array(p.polygons).keys()].flatMap((i) =>
    [...Array(q.polygons).keys()].map((j) => {
      const intersection = common(i, j);
      return { p: i, q: j, intersection, union: pixels(p, i) + pixels(q, j) - intersection };
    }),
  );
  const pairs = all.filter(({ intersection }) => intersection > 0);
  const without = (side: 'p' | 'q'): number[] =>
    [...Array((side === 'p' ? p : q).polygons).keys()].filter(
      (polygon) => !pairs.some((pair) => pair[side] === polygon),
    );
  return { pairs, missing: { p: without('p'), q: without('q') } };
}
