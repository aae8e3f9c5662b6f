import type { Polygons, Zones } from '../algorithms/geometry/polygons.ts';
import { type NoteTally, quoteName } from '../algorithms/notes.ts';
import { DOMAIN_STEPS, type Domain, type DomainPolygons, placeInDomain } from '../algorithms/quadrants/domain.ts';
import { GeometryError } from '../primitives/errors.ts';

/** Polygons in steps of a domain, and their names. */
export interface PlacedZones {
  readonly names: readonly string[];
  readonly polygons: DomainPolygons;
}

/** How polygons are placed. */
export interface Placing {
  readonly domain: Domain;
  /** What becomes of a polygon with a vertex beyond the domain. */
  readonly onBadRecord: 'stop' | 'skip';
  /** Counts those that are left out. */
  readonly tally: NoteTally;
  /** What to do about them, for errors. */
  readonly remedy: string;
}

/**
 * Places polygons in a domain. One with a vertex beyond it stops the run or is left out.
 *
 * @param before - Polygons of the file before these, so that errors tell the number in the file.
 * @throws GeometryError `geometry/beyond-domain` with file and record.
 */
export function placeZones({ names, polygons, file }: Zones, before: number, placing: Placing): PlacedZones {
  const { domain, onBadRecord, tally, remedy } = placing;
  const beyond = polygonsBeyond(polygons, domain);
  if (beyond.length === 0) return { names, polygons: placeInDomain(polygons, domain) };
  if (onBadRecord === 'stop') throw beyondDomain(names[beyond[0]!]!, before + beyond[0]!, { domain, remedy, file });
  for (const polygon of beyond) tally.add('index/beyond-domain', names[polygon]!);
  const kept = withoutPolygons(polygons, beyond);
  const left = new Set(beyond);
  return { names: names.filter((_, polygon) => !left.has(polygon)), polygons: placeInDomain(kept, domain) };
}

/** Says of how many polygons it was that were left out. */
export const BEYOND_SENTENCES: Readonly<Record<string, (count: number) => string>> = {
  'index/beyond-domain': (n) =>
    n === 1
      ? '1 polygon is not in the domain and was left out'
      : `${n} polygons are not in the domain and were left out`,
};

function polygonsBeyond({ polygonRings, ringVertices, x, y }: Polygons, { left, bottom, size }: Domain): number[] {
  const isIn = (at: number, from: number): boolean => {
    const step = Math.round(((at - from) / size) * DOMAIN_STEPS);
    return step >= 0 && step <= DOMAIN_STEPS;
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
  {
    domain: { left, bottom, size },
    remedy,
    file,
  }: { readonly domain: Domain; readonly remedy: string; readonly file: string | undefined },
): GeometryError {
  return new GeometryError('geometry/beyond-domain', `The polygon ${quoteName(name)} is not in the domain.`, {
    expected: `x from ${left} to ${left + size}, y from ${bottom} to ${bottom + size}`,
    got: 'a vertex beyond',
    remedy,
    place: { file, record },
  });
}

function withoutPolygons({ polygonRings, ringVertices, x, y }: Polygons, beyond: readonly number[]): Polygons {
  const [rings, vertices] = [[0], [0]];
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
    }
    rings.push(vertices.length - 1);
  }
  return {
    polygonRings: Uint32Array.from(rings),
    ringVertices: Uint32Array.from(vertices),
    x: keptX.subarray(0, at),
    y: keptY.subarray(0, at),
  };
}
