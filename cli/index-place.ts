import { collapsedPolygons } from '../algorithms/geometry/collapsed.ts';
import { type FillRule, overlapSentence, type Polygons, type Zones } from '../algorithms/geometry/polygons.ts';
import { sheetsOf } from '../algorithms/geometry/sheets.ts';
import type { Note, NoteTally } from '../algorithms/notes.ts';
import { comeRound } from '../algorithms/quadrants/come-round.ts';
import {
  DOMAIN_STEPS,
  type Domain,
  type DomainPolygons,
  placeInDomain,
  stepOf,
} from '../algorithms/quadrants/domain.ts';
import { MAX_STEP, placePolygons } from '../algorithms/queries/place-polygons.ts';
import { quoteName } from '../algorithms/quoted-names.ts';
import { isGeographicCrs } from '../formats/crs.ts';
import { GeometryError } from '../primitives/checks/errors.ts';

/** Polygons whose coordinates are steps of a domain's grid, with their names. */
export interface PlacedZones {
  readonly names: readonly string[];
  readonly polygons: DomainPolygons;
}

/** How to place polygons in a domain. */
export interface Placing {
  readonly domain: Domain;
  /** The fill rule. */
  readonly fill: FillRule;
  /** How to treat a polygon with a vertex outside the domain: throw an error, or skip the polygon. */
  readonly onBadRecord: 'stop' | 'skip';
  /** Counts skipped polygons and polygons with overlapping parts. {@link placeNotes} turns the counts into notes. */
  readonly tally: NoteTally;
  /** Whether longitudes wrap around at the ends of the domain. */
  readonly comesRound: boolean;
  /**
   * Whether polygons may leave the domain, as queries may. Then only polygons extremely far away are errors or skipped.
   */
  readonly mayLeave?: boolean;
  /** Text of the remedy in the error message for a polygon outside the domain. */
  readonly remedy: string;
}

/**
 * Converts the coordinates of polygons to steps of the domain's grid. A polygon with a vertex outside the domain is an
 * error or is skipped, depending on `placing.onBadRecord`.
 *
 * @param before - Number of polygons that precede `zones` in the file. Errors state the number of a polygon in the
 * whole file.
 * @throws GeometryError `geometry/beyond-domain`, with the file and the record.
 */
export function placeZones(zones: Zones, before: number, placing: Placing): PlacedZones {
  const { names, crs, file } = zones;
  const { domain, onBadRecord, tally, comesRound } = placing;
  const polygons = comesRound && isGeographicCrs(crs) ? comeRound(zones.polygons, domain) : zones.polygons;
  const beyond = polygonsBeyond(polygons, domain, placing.mayLeave ? MAX_STEP - DOMAIN_STEPS : 0);
  if (beyond.length === 0) return placeNoted(names, polygons, placing);
  if (onBadRecord === 'stop') throw beyondDomain(names[beyond[0]!]!, before + beyond[0]!, placing, file);
  for (const polygon of beyond) tally.add('index/beyond-domain', names[polygon]!);
  const kept = withoutPolygons(polygons, beyond);
  const left = new Set(beyond);
  const keptNames = names.filter((_, polygon) => !left.has(polygon));
  return placeNoted(keptNames, kept, placing);
}

/** Converts coordinates to steps, and counts polygons whose parts overlap. */
function placeNoted(
  names: readonly string[],
  polygons: Polygons,
  { domain, fill, tally, mayLeave }: Placing,
): PlacedZones {
  const placed = mayLeave
    ? placeAsked(names, polygons, domain, fill, tally)
    : placeInDomain(polygons, domain, { fill });
  const sheets = fill === 'union' ? placed.sheets : sheetsOf({ ...placed, ringParts: polygons.ringParts });
  // Not the placed vertices: queries far outside of the domain are led around it, which takes their width, but no area.
  const stepsOf = (axis: Float64Array, from: number): Float64Array =>
    axis.map((coordinate) => stepOf(coordinate, from, domain.size));
  const collapsed = collapsedPolygons(polygons, stepsOf(polygons.x, domain.left), stepsOf(polygons.y, domain.bottom));
  for (const polygon of collapsed) tally.add('index/collapsed', names[polygon]!);
  for (const polygon of sheets?.overlapping ?? []) tally.add('index/overlapping-parts', names[polygon]!);
  return { names, polygons: placed };
}

/** Converts coordinates of queries to steps, and counts queries that leave the domain. */
function placeAsked(
  names: readonly string[],
  polygons: Polygons,
  domain: Domain,
  fill: FillRule,
  tally: NoteTally,
): DomainPolygons {
  const { leaving, shortened, ...placed } = placePolygons(polygons, domain, { fill });
  for (const polygon of leaving) tally.add('index/polygons-leave-domain', names[polygon]!);
  for (const polygon of shortened) tally.add('index/shortened-edges', names[polygon]!);
  return placed;
}

/** Notes on polygons that were skipped, and on polygons whose parts overlap. */
export function placeNotes({ tally, fill }: Pick<Placing, 'tally' | 'fill'>): Note[] {
  return tally.notes({
    'index/overlapping-parts': (n) => overlapSentence(n, ['polygon', 'polygons'], fill),
    'index/collapsed': (n) =>
      `${n === 1 ? '1 polygon is' : `${n} polygons are`} narrower than a step of the domain's grid and without area on it`,
    'index/polygons-leave-domain': (n) =>
      `${n === 1 ? '1 polygon leaves' : `${n} polygons leave`} the domain of the tree, outside of which there is nothing to find`,
    'index/shortened-edges': (n) =>
      `${n === 1 ? '1 polygon has' : `${n} polygons have`} edges that pass through the domain and end more than half its size outside; they are moved by less than half a step of its grid`,
    'index/beyond-domain': (n) =>
      n === 1
        ? '1 polygon is not in the domain and was skipped'
        : `${n} polygons are not in the domain and were skipped`,
  });
}

/** The polygons with a vertex more than `reach` steps outside the domain. */
function polygonsBeyond(
  { polygonRings, ringVertices, x, y }: Polygons,
  { left, bottom, size }: Domain,
  reach: number,
): number[] {
  const isIn = (at: number, from: number): boolean => {
    const step = stepOf(at, from, size);
    return step >= -reach && step <= DOMAIN_STEPS + reach;
  };
  const found: number[] = [];
  for (let polygon = 0; polygon < polygonRings.length - 1; polygon++) {
    const end = ringVertices[polygonRings[polygon + 1]!]!;
    for (let v = ringVertices[polygonRings[polygon]!]!; v < end; v++) {
      if (isIn(x[v]!, left) && isIn(y[v]!, bottom)) continue;
      found.push(polygon);
      break;
    }
  }
  return found;
}

function beyondDomain(
  name: string,
  record: number,
  { domain: { left, bottom, size }, mayLeave, remedy }: Placing,
  file: string | undefined,
): GeometryError {
  const [where, expected] = mayLeave
    ? ['too far outside', 'coordinates at most a million times the size of the domain away']
    : ['not in', `x from ${left} to ${left + size}, y from ${bottom} to ${bottom + size}`];
  return new GeometryError('geometry/beyond-domain', `The polygon ${quoteName(name)} is ${where} the domain.`, {
    expected,
    got: 'a vertex outside',
    remedy,
    place: { file, record },
  });
}

function withoutPolygons(
  { polygonRings, ringVertices, ringParts, x, y }: Polygons,
  beyond: readonly number[],
): Polygons {
  const [rings, vertices] = [[0], [0]];
  const parts: number[] = [];
  const [keptX, keptY] = [new Float64Array(x.length), new Float64Array(y.length)];
  const left = new Set(beyond);
  let at = 0;
  for (let polygon = 0; polygon < polygonRings.length - 1; polygon++) {
    if (left.has(polygon)) continue;
    for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]!; ring++) {
      const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
      keptX.set(x.subarray(from, to), at);
      keptY.set(y.subarray(from, to), at);
      at += to - from;
      vertices.push(at);
      parts.push(ringParts?.[ring] ?? 0);
    }
    rings.push(vertices.length - 1);
  }
  return {
    polygonRings: Uint32Array.from(rings),
    ringVertices: Uint32Array.from(vertices),
    ringParts: ringParts && Uint32Array.from(parts),
    x: keptX.subarray(0, at),
    y: keptY.subarray(0, at),
  };
}
