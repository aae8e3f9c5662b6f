import { requireArguments } from '../../primitives/checks/arguments.ts';
import {
  anInstance,
  aPositive,
  aRecord,
  type Kind,
  numbers,
  optional,
  someOptions,
} from '../../primitives/checks/kinds.ts';
import { largestOf } from '../../primitives/host/extremes.ts';
import { type Bounds, boundsOfRings, edgesOfPart, movedEdges, type PartEdges } from './part-edges.ts';
import { partsOverlap } from './parts-overlap.ts';

/** Polygons in integer coordinates, whose rings may be grouped into parts. */
export interface PartedPolygons {
  readonly polygonRings: Uint32Array;
  readonly ringVertices: Uint32Array;
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number>;
  /** The part to which each ring belongs. If missing, all rings of a polygon are one part. */
  readonly ringParts?: Uint32Array | undefined;
}

const someParted: Kind = aRecord<PartedPolygons>({
  polygonRings: anInstance(Uint32Array),
  ringVertices: anInstance(Uint32Array),
  x: numbers,
  y: numbers,
  ringParts: optional(anInstance(Uint32Array)),
});

/**
 * Polygons whose parts overlap, split into sheets (groups of parts that do not overlap). Filling all rings of a sheet
 * by the even-odd rule therefore gives the union of its parts. A polygon is the union of its sheets. Sheet p belongs to
 * polygon p; further sheets are numbered after the polygons.
 */
export interface Sheets {
  /** The sheet to which each ring belongs. */
  readonly ringSheets: Uint32Array;
  /** The polygon of each further sheet, ascending. Sheet `polygons + i` belongs to polygon `furtherOf[i]`. */
  readonly furtherOf: Uint32Array;
  /** Indices of the polygons whose parts overlap, ascending. */
  readonly overlapping: Uint32Array;
}

export const someSheets: Kind = aRecord<Sheets>({
  ringSheets: anInstance(Uint32Array),
  furtherOf: anInstance(Uint32Array),
  overlapping: anInstance(Uint32Array),
});

export interface SheetOptions {
  /** Period of x in steps, for longitudes. Default: x does not wrap around. */
  readonly turn?: number | undefined;
}

const SHEET_OPTIONS: Kind = someOptions<SheetOptions>({ turn: optional(aPositive()) });

/**
 * Finds the polygons whose parts overlap, and splits them into sheets (groups of parts that do not overlap). Returns
 * undefined if no parts overlap.
 *
 * - Work O(rings), plus O(vertices) for polygons with several parts, plus `partsOverlap` for parts whose boxes overlap.
 *
 * @example
 * const square = '[[[0, 0], [2, 0], [2, 2], [0, 2]]]';
 * const { zones } = parseZones(`{ "type": "MultiPolygon", "coordinates": [${square}, [[[1, 1], [3, 1], [3, 3]]]] }`);
 * sheetsOf(zones.polygons).ringSheets; // Uint32Array [0, 1]
 */
export function sheetsOf(polygons: PartedPolygons, options: SheetOptions = {}): Sheets | undefined {
  requireArguments('sheetsOf', { polygons, options }, { polygons: someParted, options: SHEET_OPTIONS });
  const { turn } = options;
  const { polygonRings, ringParts } = polygons;
  if (ringParts === undefined) return undefined;
  const count = polygonRings.length - 1;
  const [furtherOf, overlapping]: [number[], number[]] = [[], []];
  let ringSheets: Uint32Array | undefined;
  for (let polygon = 0; polygon < count; polygon++) {
    const [from, to] = [polygonRings[polygon]!, polygonRings[polygon + 1]!];
    const parts = ringsOfParts(ringParts, from, to);
    const sheetOfPart = parts === undefined ? undefined : colourParts(polygons, parts, turn);
    if (sheetOfPart === undefined) continue;
    ringSheets ??= ownSheets(polygonRings);
    const further = count + furtherOf.length - 1;
    for (const [part, rings] of parts!.entries()) {
      const sheet = sheetOfPart[part]!;
      for (const ring of rings) ringSheets[ring] = sheet === 0 ? polygon : further + sheet;
    }
    for (let sheets = largestOf(sheetOfPart); sheets > 0; sheets--) furtherOf.push(polygon);
    overlapping.push(polygon);
  }
  if (ringSheets === undefined) return undefined;
  return { ringSheets, furtherOf: Uint32Array.from(furtherOf), overlapping: Uint32Array.from(overlapping) };
}

function ownSheets(polygonRings: Uint32Array): Uint32Array {
  const sheets = new Uint32Array(polygonRings.at(-1)!);
  for (let polygon = 0; polygon + 1 < polygonRings.length; polygon++) {
    sheets.fill(polygon, polygonRings[polygon], polygonRings[polygon + 1]);
  }
  return sheets;
}

/**
 * The rings of each part of the polygon with the rings `from … to − 1`. Undefined if the polygon has at most one part.
 */
function ringsOfParts(ringParts: Uint32Array, from: number, to: number): number[][] | undefined {
  let ring = from + 1;
  while (ring < to && ringParts[ring] === ringParts[from]) ring++;
  if (ring >= to) return undefined;
  // Fast path: the rings of a part are usually consecutive.
  const parts: number[][] = [];
  const numbers: number[] = [];
  for (ring = from; ring < to; ring++) {
    const number = ringParts[ring]!;
    const isNew = parts.length === 0 || number > numbers.at(-1)!;
    if (isNew) numbers.push(number);
    if (isNew) parts.push([ring]);
    else if (number === numbers.at(-1)) parts.at(-1)!.push(ring);
    else return ringsByPart(ringParts, from, to);
  }
  return parts;
}

function ringsByPart(ringParts: Uint32Array, from: number, to: number): number[][] {
  const parts = new Map<number, number[]>();
  for (let ring = from; ring < to; ring++) {
    const rings = parts.get(ringParts[ring]!);
    if (rings === undefined) parts.set(ringParts[ring]!, [ring]);
    else rings.push(ring);
  }
  return [...parts.values()];
}

/**
 * Assigns each part to a sheet, numbered from 0: the first sheet in which no earlier part overlaps the part. Returns
 * undefined if no parts overlap.
 */
function colourParts(
  polygons: PartedPolygons,
  parts: readonly number[][],
  turn: number | undefined,
): number[] | undefined {
  const overlaps = overlappingParts(polygons, parts, turn);
  if (overlaps.size === 0) return undefined;
  const sheets: number[] = [];
  for (let part = 0; part < parts.length; part++) {
    const taken = new Set([...(overlaps.get(part) ?? [])].map((other) => sheets[other]));
    let sheet = 0;
    while (taken.has(sheet)) sheet++;
    sheets.push(sheet);
  }
  return sheets;
}

/**
 * A part at one of its positions on the wrapped x axis. `isCopy` is false for one position of each part, its original.
 * Pairs of two copies need no test: shifting both copies back together turns one of them into its original.
 */
interface PlacedPart {
  readonly part: number;
  readonly turns: number;
  readonly isCopy: boolean;
  readonly left: number;
  readonly right: number;
}

/** Maps every part that overlaps other parts to the set of those other parts. */
function overlappingParts(
  polygons: PartedPolygons,
  parts: readonly number[][],
  turn: number | undefined,
): Map<number, Set<number>> {
  const bounds = parts.map((rings) => boundsOfRings(polygons, rings));
  const found = new Map<number, Set<number>>();
  if (parts.length === 2 && turn === undefined && !shareArea(bounds[0]!, bounds[1]!, 0)) return found;
  const edges = new Map<string, PartEdges | undefined>();
  const edgesAt = (part: number, turns: number): PartEdges | undefined => {
    const key = `${part} ${turns}`;
    if (!edges.has(key)) edges.set(key, turns === 0 ? edgesOfPart(polygons, parts[part]!) : moved(part, turns));
    return edges.get(key);
  };
  const moved = (part: number, turns: number): PartEdges | undefined => {
    const own = edgesAt(part, 0);
    return own && movedEdges(own, 2 * turns * turn!);
  };
  const active: PlacedPart[] = [];
  for (const next of placedParts(bounds, turn)) {
    let kept = 0;
    for (const other of active) {
      if (other.right <= next.left) continue;
      active[kept++] = other;
      const by = (next.turns - other.turns) * (turn ?? 0);
      // Bounding boxes rule out most pairs, before edges are examined.
      if (next.part === other.part || !shareArea(bounds[next.part]!, bounds[other.part]!, by)) continue;
      if ((next.isCopy && other.isCopy) || found.get(next.part)?.has(other.part)) continue;
      const min = Math.min(next.turns, other.turns);
      const [one, two] = [edgesAt(next.part, next.turns - min), edgesAt(other.part, other.turns - min)];
      if (one === undefined || two === undefined || !partsOverlap(one, two)) continue;
      addTo(found, next.part, other.part);
      addTo(found, other.part, next.part);
    }
    active.length = kept;
    active.push(next);
  }
  return found;
}

/** Whether both kinds of bounding boxes of two parts share area, if the first part is moved along x by `by`. */
function shareArea(a: Bounds, b: Bounds, by: number): boolean {
  const [p, q, d, e] = [a.box, b.box, a.diagonal, b.diagonal];
  return (
    p.left + by < q.right &&
    q.left < p.right + by &&
    p.bottom < q.top &&
    q.bottom < p.top &&
    d.left + by < e.right &&
    e.left < d.right + by &&
    d.bottom + by < e.top &&
    e.bottom < d.top + by
  );
}

/**
 * Parts in the order of their left sides. If x wraps around with the period `turn`, each part also has a copy, moved by
 * a multiple of the period, wherever the copy may overlap another part.
 */
function placedParts(bounds: readonly Bounds[], turn?: number): PlacedPart[] {
  const placed = bounds.map(({ box: { left, right } }, part) => {
    const turns = turn === undefined ? 0 : -Math.floor(left / turn);
    return { part, turns, isCopy: false, left: left + turns * (turn ?? 0), right: right + turns * (turn ?? 0) };
  });
  const furthest = placed.reduce((max, { right }) => Math.max(max, right), 0);
  const copies = [...placed];
  for (let turns = 1; turn !== undefined && turns * turn < furthest; turns++) {
    for (const { part, turns: own, left, right } of placed) {
      const by = turns * turn;
      copies.push({ part, turns: own + turns, isCopy: true, left: left + by, right: right + by });
    }
  }
  return copies.sort((a, b) => a.left - b.left);
}

function addTo(sets: Map<number, Set<number>>, key: number, member: number): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([member]));
  else set.add(member);
}
