import { requireArguments } from '../../primitives/checks/arguments.ts';
import { GeometryError } from '../../primitives/checks/errors.ts';
import { aText, optional, someOptions } from '../../primitives/checks/kinds.ts';
import { aFill, type Polygons, polygonOfVertex, somePolygons } from '../geometry/polygons.ts';
import { sheetsOf } from '../geometry/sheets.ts';
import {
  DOMAIN_STEPS,
  type Domain,
  type DomainPolygons,
  type PlaceOptions,
  requireDomain,
  stepOf,
  threeNumbers,
} from '../quadrants/domain.ts';
import { pathAround, REACH } from './path-around.ts';

/** Query polygons in steps of a domain, parts of which may be outside the domain. */
export interface PlacedPolygons extends DomainPolygons {
  /** Indices of the polygons that leave the domain, ascending. */
  readonly leaving: Uint32Array;
  /** Indices of the polygons of which an edge was shortened to a rounded end, ascending. */
  readonly shortened: Uint32Array;
}

/**
 * Places polygons that are asked of a tree: snaps every vertex to the nearest point of the domain's grid, as
 * `placeInDomain` does. The polygons may leave the domain. Their quadrants are those within the domain, so queries have
 * the same results as with a larger domain on the same grid that holds the polygons.
 *
 * Vertices may be up to half the domain's size outside of it. Beyond that, rings are led around the domain, and an edge
 * that passes through the domain is shortened to a point of the grid on it. If an edge has no such point, it ends at
 * the nearest point of the grid, which moves it by less than half a step within the domain; `shortened` names these
 * polygons.
 *
 * O(vertices), plus the work of `sheetsOf` for polygons with several parts.
 *
 * @throws `ArgumentError` `quadrants/domain` for a domain without a size, `GeometryError` `geometry/beyond-domain`, which names the polygon, for a coordinate that is not finite.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[-5, -5], [15, -5], [15, 15], [-5, 15]]] }');
 * const placed = placePolygons(zones.polygons, { left: 0, bottom: 0, size: 64 });
 * [placed.leaving, placed.x.map((step) => step / 2 ** 24)]; // [Uint32Array [0], Int32Array [-5, 15, 15, -5]]
 */
export function placePolygons(polygons: Polygons, domain: Domain, options: PlaceOptions = {}): PlacedPolygons {
  requireArguments('placePolygons', { polygons, domain, options }, ARGUMENTS);
  requireDomain(domain);
  const { fill = 'union', file } = options;
  const { polygonRings, ringVertices, ringParts } = polygons;
  const steps = {
    x: polygons.x.map((at) => stepOf(at, domain.left, domain.size)),
    y: polygons.y.map((at) => stepOf(at, domain.bottom, domain.size)),
  };
  const bad = steps.x.findIndex((x, v) => !(Math.abs(x) <= MAX_STEP && Math.abs(steps.y[v]!) <= MAX_STEP));
  if (bad >= 0) throw tooFar(polygons, bad, file);
  // Sheets are found before rings are led around the domain, which may lay parts over each other outside of it.
  const sheets = fill === 'union' ? sheetsOf({ ...steps, polygonRings, ringVertices, ringParts }) : undefined;
  const leaving = polygonsWith(polygons, (v) => !isWithin(steps.x[v]!, 0) || !isWithin(steps.y[v]!, 0));
  const isFar = (v: number): boolean => !isWithin(steps.x[v]!, REACH) || !isWithin(steps.y[v]!, REACH);
  if (!steps.x.some((_, v) => isFar(v))) {
    const near = { x: Int32Array.from(steps.x), y: Int32Array.from(steps.y) };
    return { polygonRings, ringVertices, ...near, ...(sheets && { sheets }), leaving, shortened: new Uint32Array() };
  }
  return { polygonRings, ...ledAround(polygons, steps), ...(sheets && { sheets }), leaving };
}

const ARGUMENTS = {
  polygons: somePolygons,
  domain: threeNumbers,
  options: someOptions<PlaceOptions>({ fill: optional(aFill), file: optional(aText) }),
};

/** Coordinates up to this number of steps from the domain's corner are integers of an f64, with bits to spare. */
export const MAX_STEP: number = 2 ** 50;

function isWithin(step: number, reach: number): boolean {
  return step >= -reach && step <= DOMAIN_STEPS + reach;
}

/** The polygons that have a vertex for which `isSuch` is true. */
function polygonsWith({ polygonRings, ringVertices }: Polygons, isSuch: (vertex: number) => boolean): Uint32Array {
  const found: number[] = [];
  for (let polygon = 0; polygon + 1 < polygonRings.length; polygon++) {
    const end = ringVertices[polygonRings[polygon + 1]!]!;
    let v = ringVertices[polygonRings[polygon]!]!;
    while (v < end && !isSuch(v)) v++;
    if (v < end) found.push(polygon);
  }
  return Uint32Array.from(found);
}

/** Replaces the edges of rings that end too far outside the domain by paths that are near enough. */
function ledAround(
  polygons: Polygons,
  steps: { readonly x: Float64Array; readonly y: Float64Array },
): Pick<PlacedPolygons, 'ringVertices' | 'x' | 'y' | 'shortened'> {
  const { ringVertices } = polygons;
  const [x, y, ends]: [number[], number[], number[]] = [[], [], [0]];
  const moved = new Set<number>();
  for (let ring = 0; ring + 1 < ringVertices.length; ring++) {
    const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    for (let v = from, before = to - 1; v < to; before = v++) {
      const start = { x: steps.x[before]!, y: steps.y[before]! };
      const { points, isExact } = pathAround(start, { x: steps.x[v]!, y: steps.y[v]! });
      if (!isExact) moved.add(v);
      for (const point of points) {
        x.push(point.x);
        y.push(point.y);
      }
    }
    ends.push(x.length);
  }
  return {
    ringVertices: Uint32Array.from(ends),
    x: Int32Array.from(x),
    y: Int32Array.from(y),
    shortened: polygonsWith(polygons, (v) => moved.has(v)),
  };
}

function tooFar(polygons: Polygons, vertex: number, file: string | undefined): GeometryError {
  const polygon = polygonOfVertex(polygons, vertex);
  return new GeometryError('geometry/beyond-domain', `A vertex of polygon ${polygon} is too far outside the domain.`, {
    expected: 'finite coordinates, at most a million times the size of the domain away',
    got: `${polygons.x[vertex]}, ${polygons.y[vertex]}`,
    remedy: 'Check the coordinates of the polygon and the domain.',
    place: { file, record: polygon },
  });
}
