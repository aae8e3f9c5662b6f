import { FormatError } from '../../primitives/checks/errors.ts';
import { describeFeature, type FeaturePlace } from './feature.ts';

/** Geometries with an area that are no polygons with straight edges, and how to make polygons of them. */
const REFUSED: ReadonlyMap<number, readonly [name: string, remedy: string]> = new Map([
  [
    10,
    ['a CURVEPOLYGON, with arcs', 'Make straight edges of the arcs, for example with ogr2ogr -nlt CONVERT_TO_LINEAR.'],
  ],
  [15, ['a POLYHEDRALSURFACE', 'Convert it, for example with ogr2ogr -nlt MULTIPOLYGON.']],
  [16, ['a TIN', 'Convert it, for example with ogr2ogr -nlt MULTIPOLYGON.']],
  [17, ['a TRIANGLE', 'Convert it, for example with ogr2ogr -nlt MULTIPOLYGON.']],
]);

/**
 * Throws if a type of geometry, by its number in well-known binary, has an area and is no polygon with straight edges.
 *
 * @throws FormatError `format/curved-geometry`.
 */
export function requireStraight(type: number, at: FeaturePlace): void {
  const [name, remedy] = REFUSED.get(type) ?? [];
  if (name === undefined) return;
  throw new FormatError('format/curved-geometry', `The geometry of ${describeFeature(at)} is no polygon.`, {
    expected: 'polygons with straight edges',
    got: name,
    remedy,
    place: { file: at.file, record: at.index },
  });
}
