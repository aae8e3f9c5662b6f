import { requireArguments } from '../../primitives/checks/arguments.ts';
import { ArgumentError, GeometryError } from '../../primitives/checks/errors.ts';
import {
  aFiniteNumber,
  aNumber,
  anInstance,
  aPositive,
  aRecord,
  aText,
  type Kind,
  optional,
  someOptions,
} from '../../primitives/checks/kinds.ts';
import { aFill, type FillRule, type Polygons, polygonOfVertex, somePolygons } from '../geometry/polygons.ts';
import { type Sheets, sheetsOf, someSheets } from '../geometry/sheets.ts';

/**
 * A domain is 2^DOMAIN_BITS steps wide and high, so that coordinates and their differences fit into 32-bit integers.
 */
export const DOMAIN_BITS = 30;

/** Number of steps of a domain along each axis. */
export const DOMAIN_STEPS: number = 2 ** DOMAIN_BITS;

/**
 * A square of the plane that is split into quadrants. All sets of polygons that are indexed together share one domain.
 */
export interface Domain {
  readonly left: number;
  readonly bottom: number;
  /** Width and height of the square. */
  readonly size: number;
}

/** Validator of a domain that checks only the types of its fields. */
export const threeNumbers: Kind = aRecord<Domain>({ left: aNumber, bottom: aNumber, size: aNumber });
export const aDomain: Kind = aRecord<Domain>({ left: aFiniteNumber, bottom: aFiniteNumber, size: aPositive() });

/** A domain of all longitudes and latitudes, in degrees. A step is 37 mm at the equator. */
export const WORLD: Domain = { left: -180, bottom: -180, size: 360 };

/**
 * Polygons in steps of a domain, as columns. Polygons, rings and vertices are nested in CSR form. The inside of a
 * polygon follows the even-odd rule over all its rings. For a polygon with sheets (groups of parts that do not
 * overlap), the inside is the union of the sheets.
 */
export interface DomainPolygons {
  /** Rings of polygon `p` are `polygonRings[p] … polygonRings[p + 1] − 1`; length is polygons + 1. */
  readonly polygonRings: Uint32Array;
  /** Vertices of ring `r` are `ringVertices[r] … ringVertices[r + 1] − 1`; length is rings + 1. */
  readonly ringVertices: Uint32Array;
  /** Coordinates of vertices in steps, from 0 to {@link DOMAIN_STEPS}. */
  readonly x: Int32Array;
  readonly y: Int32Array;
  /**
   * The sheets (groups of parts that do not overlap) of polygons whose overlapping parts are united. Undefined if no
   * parts overlap.
   */
  readonly sheets?: Sheets | undefined;
}

/** Validator of polygons in steps of a domain or of another grid. */
export const someGridPolygons: Kind = aRecord<DomainPolygons>({
  polygonRings: anInstance(Uint32Array),
  ringVertices: anInstance(Uint32Array),
  x: anInstance(Int32Array),
  y: anInstance(Int32Array),
  sheets: optional(someSheets),
});

export interface PlaceOptions {
  /** Which points are inside a polygon whose parts overlap. Default `union`. */
  readonly fill?: FillRule | undefined;
  /** Name of the file with the polygons, used in errors. */
  readonly file?: string | undefined;
}

/**
 * Snaps every vertex to the nearest point of the domain's grid of 2³⁰ × 2³⁰ steps.
 *
 * O(vertices), plus the work of `sheetsOf` for polygons with several parts. A coordinate halfway between two steps is
 * rounded up. A polygon is the union of its parts, and each part is filled by the even-odd rule. With `fill:
 * 'even-odd'` the rule applies to all rings of a polygon together.
 *
 * @throws `ArgumentError` `quadrants/domain` for a domain without a size, `GeometryError` `geometry/beyond-domain`,
 * which names the polygon, for a coordinate that is not finite or is outside the domain.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [90, 0], [90, 90], [0, 90]]] }');
 * placeInDomain(zones.polygons, WORLD).x.map((step) => step / 2 ** 28); // Int32Array [2, 3, 3, 2]
 */
export function placeInDomain(polygons: Polygons, domain: Domain, options: PlaceOptions = {}): DomainPolygons {
  requireArguments('placeInDomain', { polygons, domain, options }, PLACE);
  const { fill = 'union', file } = options;
  requireDomain(domain);
  const { polygonRings, ringVertices } = polygons;
  const x = new Int32Array(polygons.x.length);
  const y = new Int32Array(polygons.y.length);
  for (let v = 0; v < x.length; v++) {
    const column = stepOf(polygons.x[v]!, domain.left, domain.size);
    const row = stepOf(polygons.y[v]!, domain.bottom, domain.size);
    if (!isInside(column)) throw beyondDomain('x', polygons, v, domain, file);
    if (!isInside(row)) throw beyondDomain('y', polygons, v, domain, file);
    x[v] = column;
    y[v] = row;
  }
  const placed = { polygonRings, ringVertices, x, y };
  const sheets = fill === 'union' ? sheetsOf({ ...placed, ringParts: polygons.ringParts }) : undefined;
  return sheets === undefined ? placed : { ...placed, sheets };
}

const PLACE = {
  polygons: somePolygons,
  domain: threeNumbers,
  options: someOptions<PlaceOptions>({ fill: optional(aFill), file: optional(aText) }),
};

/** The nearest step to a coordinate. */
export function stepOf(coordinate: number, from: number, size: number): number {
  return Math.round(((coordinate - from) / size) * DOMAIN_STEPS);
}

const isInside = (step: number): boolean => step >= 0 && step <= DOMAIN_STEPS;

export function requireDomain({ left, bottom, size }: Domain): void {
  const isPlace = Number.isFinite(left) && Number.isFinite(bottom);
  if (isPlace && size > 0 && Number.isFinite(left + size) && Number.isFinite(bottom + size)) return;
  throw new ArgumentError('quadrants/domain', 'The domain is not a square of the plane.', {
    expected: 'a finite corner, and a size above 0',
    got: `left ${left}, bottom ${bottom}, size ${size}`,
  });
}

function beyondDomain(
  axis: 'x' | 'y',
  polygons: Polygons,
  vertex: number,
  { left, bottom, size }: Domain,
  file: string | undefined,
): GeometryError {
  const polygon = polygonOfVertex(polygons, vertex);
  const from = axis === 'x' ? left : bottom;
  return new GeometryError('geometry/beyond-domain', `A vertex of polygon ${polygon} is not in the domain.`, {
    expected: `${axis} from ${from} to ${from + size}`,
    got: polygons[axis][vertex]!,
    remedy: 'Choose a domain that holds all polygons, or correct the polygon.',
    place: { file, record: polygon },
  });
}
