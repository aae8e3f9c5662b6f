import { GeometryError } from '../../primitives/checks/errors.ts';
import { describeFeature, type FeaturePlace } from './feature.ts';
import { endRing, type LayerColumns, reserveVertices } from './layer-columns.ts';

/** How the positions of a ring are stored: the bytes of one, of which x and y are the first, and whether these are little-endian. */
export interface PositionLayout {
  readonly stride: number;
  readonly little: boolean;
}

const XY: PositionLayout = { stride: 16, little: true };

/** Reads a ring as {@link readPositions} does. */
export function readBinaryRing(
  columns: LayerColumns,
  view: DataView,
  start: number,
  positions: number,
  at: FeaturePlace,
  layout?: PositionLayout,
): void {
  readPositions(columns, view, start, positions, at, layout);
  endRing(columns);
}

/**
 * Appends a sequence of positions to the current ring, whose first two numbers are f64. Default: little-endian pairs.
 *
 * @throws GeometryError if a coordinate is not finite, RangeError if the bytes end too early.
 */
export function readPositions(
  columns: LayerColumns,
  view: DataView,
  start: number,
  positions: number,
  at: FeaturePlace,
  { stride, little }: PositionLayout = XY,
): void {
  const { vertices } = columns;
  reserveVertices(vertices, positions);
  const { x, y, length } = vertices;
  for (let position = 0; position < positions; position++) {
    const east = view.getFloat64(start + stride * position, little);
    const north = view.getFloat64(start + stride * position + 8, little);
    // `x - x` is 0 for finite numbers, and NaN for infinity and NaN.
    if (!(east - east === 0 && north - north === 0)) throw notFinite(east, north, at);
    x[length + position] = east;
    y[length + position] = north;
  }
  vertices.length += positions;
}

function notFinite(x: number, y: number, at: FeaturePlace): GeometryError {
  return new GeometryError('geometry/not-finite', `A coordinate of ${describeFeature(at)} is not a finite number.`, {
    expected: 'positions of two finite numbers',
    got: `(${x}, ${y})`,
    remedy: 'Correct or remove the feature.',
    place: { file: at.file, record: at.index },
  });
}
