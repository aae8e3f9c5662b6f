import { basename, extname } from 'node:path';
import type { Note } from '../algorithms/notes.ts';
import { type Domain, WORLD } from '../algorithms/quadrants/domain.ts';
import { shortName, shortNamesApart } from '../algorithms/quoted-names.ts';
import { withoutGz } from '../formats/bytes/gzip-files.ts';
import { isGeographicCrs, sameCrs } from '../formats/crs.ts';
import type { PolygonLayer } from '../formats/polygons/polygon-layer.ts';
import { UsageError } from '../formats/usage-error.ts';
import { GeometryError } from '../primitives/checks/errors.ts';
import type { Log } from './log.ts';
import { showProgress } from './shown-progress.ts';

/** A file of polygons. Its polygons become one set of the tree. */
export interface LayerSet {
  readonly name: string;
  readonly layer: PolygonLayer;
  /** Coordinate system; undefined if the file has not been read yet or states no system. */
  crs: string | undefined;
  /** Notes about the file; empty if the file has not been read yet. */
  notes: readonly Note[];
}

/** Creates one set per file, in the order of the command line. A set has the name of its file. */
export function setsOf(layers: readonly PolygonLayer[]): LayerSet[] {
  return layers.map((layer) => ({ name: setNameOf(layer.file), layer, crs: layer.crs, notes: [] }));
}

/** The name of a file without folder and extension. */
function setNameOf(file: string): string {
  const name = withoutGz(basename(file));
  return basename(name, extname(name));
}

/** Returns the notes about sets that need only the names of the files, not their contents. */
export function notesOfSets(sets: readonly LayerSet[]): Note[] {
  const names = sets.map(({ name }) => name);
  const shared = names.find((name, at) => names.indexOf(name) !== at);
  if (shared === undefined) return [];
  const message = `Several files are named ${JSON.stringify(shared)}, and so are their sets; the sets stay separate.`;
  return [{ code: 'index/same-names', message }];
}

/**
 * The common coordinate system of all sets. A set whose file states no system is assumed to have the system of the
 * other sets.
 *
 * @throws UsageError `input/crs-mismatch` if two files state different systems.
 */
export function commonCrs(sets: readonly Pick<LayerSet, 'crs' | 'layer'>[]): string | undefined {
  const [first, ...others] = sets.filter(({ crs }) => crs !== undefined);
  if (first === undefined) return undefined;
  const other = others.find(({ crs }) => !sameCrs(first.crs, crs));
  if (other === undefined) return first.crs;
  throw crsMismatch({ name: first.layer.file, crs: first.crs! }, { name: other.layer.file, crs: other.crs! });
}

/**
 * Finds out the systems of files that state none before their polygons, if these systems, as assumed, differ from those
 * of the others or from `other`. Such a file is read once, because it may state its system behind its polygons.
 */
export async function settleCrs(
  sets: readonly Pick<LayerSet, 'crs' | 'layer'>[],
  signal: AbortSignal,
  other?: string,
): Promise<void> {
  const known = [other, ...sets.map(({ crs }) => crs)].filter((crs) => crs !== undefined);
  if (known.every((crs) => sameCrs(crs, known[0]))) return;
  for (const set of sets) if (set.layer.assumesCrs) set.crs = await crsBehind(set.layer, signal);
}

/** The coordinate system of a file, found by reading all of it. */
export async function crsBehind(layer: PolygonLayer, signal: AbortSignal): Promise<string | undefined> {
  const batches = layer.batches(signal);
  for await (const _ of batches);
  return batches.crs;
}

/** A layer whose coordinate system is that of the whole file, which is read for it if the system is assumed so far. */
export async function settled(layer: PolygonLayer, signal: AbortSignal): Promise<PolygonLayer> {
  return layer.assumesCrs ? { ...layer, crs: await crsBehind(layer, signal), assumesCrs: false } : layer;
}

/** The error for two files with different coordinate systems. */
export function crsMismatch(
  a: { readonly name: string; readonly crs: string },
  b: { readonly name: string; readonly crs: string },
): UsageError {
  const code = [a.crs, b.crs].find(canAssume) ?? 'EPSG:N';
  const [inA, inB] = shortNamesApart(a.crs, b.crs);
  return new UsageError('input/crs-mismatch', `${a.name} is in ${inA}, but ${b.name} is in ${inB}.`, {
    remedy:
      `Reproject one of them, for example with ogr2ogr -t_srs ${code}; or, if both really have the same system, ` +
      `say so with --assume-crs ${code}.`,
  });
}

/**
 * Whether `--assume-crs` accepts the name of a coordinate system. The option does not accept names without a code, such
 * as the names in files of Esri's software.
 */
export function canAssume(crs: string): boolean {
  return /^EPSG:\d+$/.test(crs) || crs === 'OGC:CRS84';
}

/** The note that some files state no coordinate system, and which system is assumed. */
export function crsNotes(sets: readonly LayerSet[], crs: string | undefined): Note[] {
  const silent = sets.filter((set) => set.crs === undefined).map(({ layer }) => layer.file);
  if (silent.length === 0 || crs === undefined) return [];
  const message = `The coordinate system of ${silent.join(', ')} is not known; assumed to be ${shortName(crs)}, like the others.`;
  return [{ code: 'index/crs-assumed', message }];
}

/**
 * The domain for longitudes and latitudes; undefined for other coordinate systems. Trees with the same domain can be
 * compared.
 */
export function standardDomain(crs: string | undefined): Domain | undefined {
  return isGeographicCrs(crs) ? WORLD : undefined;
}

/**
 * Thrown during a build if the domain for longitudes and latitudes was chosen, but a file turns out to have other
 * coordinates. The build then starts again with another domain.
 */
export class CrsTurned extends Error {
  static {
    CrsTurned.prototype.name = 'CrsTurned';
  }
}

/**
 * Reads all files once, and determines the coordinate system of each set. Returns the standard domain if the common
 * system is longitudes and latitudes; otherwise a square that contains all polygons.
 */
export async function findDomain(sets: readonly LayerSet[], log: Log, signal: AbortSignal): Promise<Domain> {
  const shown = showProgress(log, 'bytes', { total: sets.reduce((sum, { layer }) => sum + layer.size, 0) });
  const extent: GrowingExtent = { left: Infinity, bottom: Infinity, right: -Infinity, top: -Infinity };
  try {
    for (const set of sets) {
      let read = 0;
      const batches = set.layer.batches(signal);
      for await (const { zones, bytesRead } of batches) {
        grow(extent, zones.polygons);
        shown.advance(bytesRead - read);
        read = bytesRead;
      }
      set.crs = batches.crs;
    }
  } finally {
    shown.end();
  }
  return standardDomain(commonCrs(sets)) ?? domainAround(extent);
}

interface GrowingExtent {
  left: number;
  bottom: number;
  right: number;
  top: number;
}

function grow(extent: GrowingExtent, { x, y }: { readonly x: Float64Array; readonly y: Float64Array }): void {
  for (let v = 0; v < x.length; v++) {
    if (x[v]! < extent.left) extent.left = x[v]!;
    if (x[v]! > extent.right) extent.right = x[v]!;
    if (y[v]! < extent.bottom) extent.bottom = y[v]!;
    if (y[v]! > extent.top) extent.top = y[v]!;
  }
}

/** The coordinates of a domain's lower left corner are multiples of the domain's side divided by this number. */
const CORNERS = 8;

/**
 * A square that contains an extent. The square's side is a power of two, and the coordinates of its lower left corner
 * are multiples of an eighth of the side. So the sides of quadrants are round numbers, and similar extents give the
 * same square. An empty extent gives the unit square.
 *
 * @throws GeometryError `index/no-domain` if the extent is too large for floating-point numbers.
 */
export function domainAround({ left, bottom, right, top }: Readonly<GrowingExtent>): Domain {
  if (!(left <= right)) return { left: 0, bottom: 0, size: 1 };
  const span = Math.max(right - left, top - bottom);
  // Adding 0 converts −0 to 0, which is printed without a sign.
  const corner = (low: number, size: number): number => Math.floor(low / (size / CORNERS)) * (size / CORNERS) + 0;
  for (let size = 2 ** Math.ceil(Math.log2(span || 1)); size < 2 ** 1020; size *= 2) {
    const domain = { left: corner(left, size), bottom: corner(bottom, size), size };
    if (domain.left + size > right && domain.bottom + size > top) return domain;
  }
  throw new GeometryError('index/no-domain', 'No square holds all coordinates.', {
    expected: 'coordinates below 2^1019',
    got: `x from ${left} to ${right}, y from ${bottom} to ${top}`,
    remedy: 'Correct the coordinates, or give a --domain and --on-bad-record skip.',
  });
}
