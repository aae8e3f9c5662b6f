import { GeometryError } from '../../primitives/checks/errors.ts';
import { describeFeature, type FeaturePlace } from './feature.ts';
import { endRing, type LayerColumns, reserveVertices } from './layer-columns.ts';

/**
 * Reads a ring as a sequence of positions. A position is a pair of little-endian f64.
 *
 * @throws GeometryError if a coordinate is not finite, RangeError if the bytes end too early.
 */
export function readBinaryRing(
  columns: LayerColumns,
  view: DataView,
  start: number,
  positions: number,
  at: FeaturePlace,
): void {
  const { vertices } = columns;
  reserveVertices(vertices, positions);
  const { x, y, length } = vertices;
  for (let position = 0; position < positions; position++) {
    const east = view.getFloat64(start + 16 * position, true);
    const north = view.getFloat64(start + 16 * position + 8, true);
    // `x - x` is 0 for finite numbers, and NaN for infinity and NaN.
    if (!(east - east === 0 && north - north === 0)) throw notFinite(east, north, at);
    x[length + position] = east;
    y[length + position] = north;
  }
  vertices.length += positions;
  endRing(columns);
}

function notFinite(x: number, y: number, at: FeaturePlace): GeometryError {
  return new GeometryError('geometry/not-finite', `A coordinate of ${describeFeature(at)} is not a finite number.`, {
    expected: 'positions of two finite numbers',
    got: `(${x}, ${y})`,
    remedy: 'Correct or remove the feature.',
    place: { file: at.file, record: at.index },
  });
}
