/** A label image in row-major order; label 0 is the background. */
export interface LabelGrid {
  readonly width: number;
  readonly height: number;
  readonly labels: ArrayLike<number>;
}

/** The regions of two label images of equal size, with areas in pixels. */
export interface LabelCounts {
  readonly first: readonly LabelRegion[];
  readonly second: readonly LabelRegion[];
  /** Pairs of regions that share pixels, ascending by `first`, then by `second`. */
  readonly pairs: readonly { readonly first: number; readonly second: number; readonly pixels: number }[];
}

export interface LabelRegion {
  readonly label: number;
  readonly pixels: number;
}

/**
 * Computes the overlaps of two segmentations directly from their pixels, without outlines, boxes or polygons.
 *
 * A region is a 4-connected component of pixels with one label or, if `regions` is `labels`, all pixels of a label.
 * Regions are in the order of their first pixels, row by row.
 */
export function countLabels(
  first: LabelGrid,
  second: LabelGrid,
  regions: 'components' | 'labels' = 'components',
): LabelCounts {
  const regionOf = regions === 'components' ? componentOf : labelOf;
  const [p, q] = [regionOf(first), regionOf(second)];
  // The keys are numbers, because a text for each pixel takes several times as long.
  const pairs = new Map<number, { first: number; second: number; pixels: number }>();
  p.forEach((i, pixel) => {
    const j = q[pixel]!;
    if (i === GROUND || j === GROUND) return;
    const key = i * 2 ** 26 + j;
    const pair = pairs.get(key);
    if (pair === undefined) pairs.set(key, { first: i, second: j, pixels: 1 });
    else pair.pixels++;
  });
  return {
    first: countRegions(first, p),
    second: countRegions(second, q),
    pairs: [...pairs.values()].sort((a, b) => a.first - b.first || a.second - b.second),
  };
}

const GROUND = -1;

/** For each pixel, the number of its 4-connected component. */
function componentOf({ width, height, labels }: LabelGrid): Int32Array {
  const region = new Int32Array(width * height).fill(GROUND);
  let regions = 0;
  for (let start = 0; start < region.length; start++) {
    if (labels[start] === 0 || region[start] !== GROUND) continue;
    const reached = [start];
    region[start] = regions;
    for (let pixel = reached.pop(); pixel !== undefined; pixel = reached.pop()) {
      for (const next of neighbours(pixel, width, height)) {
        if (region[next] !== GROUND || labels[next] !== labels[start]) continue;
        region[next] = regions;
        reached.push(next);
      }
    }
    regions++;
  }
  return region;
}

function neighbours(pixel: number, width: number, height: number): number[] {
  const column = pixel % width;
  const around: number[] = [];
  if (column > 0) around.push(pixel - 1);
  if (column + 1 < width) around.push(pixel + 1);
  if (pixel >= width) around.push(pixel - width);
  if (pixel + width < width * height) around.push(pixel + width);
  return around;
}

/** Numbers the labels of an image. Returns for each pixel the number of its label. */
function labelOf({ labels }: LabelGrid): Int32Array {
  const numbers = new Map<number, number>([[0, GROUND]]);
  return Int32Array.from(labels, (label) => {
    if (!numbers.has(label)) numbers.set(label, numbers.size - 1);
    return numbers.get(label)!;
  });
}

function countRegions({ labels }: LabelGrid, regionOf: Int32Array): LabelRegion[] {
  const regions: { label: number; pixels: number }[] = [];
  regionOf.forEach((region, pixel) => {
    if (region === GROUND) return;
    regions[region] ??= { label: labels[pixel]!, pixels: 0 };
    regions[region].pixels++;
  });
  return regions;
}
