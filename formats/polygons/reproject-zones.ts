import { someZones, type Zones } from '../../algorithms/geometry/polygons.ts';
import type { RasterGrid } from '../../algorithms/geometry/raster.ts';
import { noteTally, someNotes } from '../../algorithms/notes.ts';
import { quoteName, shortName } from '../../algorithms/quoted-names.ts';
import type { HostColumn } from '../../algorithms/tables/host-table.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { GeometryError } from '../../primitives/checks/errors.ts';
import {
  anArrayOf,
  anything,
  aPositive,
  aRecord,
  aSignal,
  aText,
  aWord,
  type Kind,
  optional,
  someOptions,
  where,
} from '../../primitives/checks/kinds.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import { normalizeCrs, sameCrs } from '../crs.ts';
import type { OnBadRecord } from '../left-out.ts';
import type { ReadZones } from './polygon-layer.ts';
import { crsPath } from './reprojection/crs-path.ts';
import { type Fault, projectedRings } from './reprojection/projected-rings.ts';

/** Where {@link reprojectZones} brings zones: a coordinate system, and the steps of cells in it, as a raster has them. */
export interface ReprojectionGrid extends Pick<RasterGrid, 'stepX' | 'stepY'> {
  /** A code such as `EPSG:32631`, or a definition: a text for PROJ, or well-known text. */
  readonly crs: string | undefined;
}

/** Options of {@link reprojectZones}. */
export interface ReprojectOptions {
  /**
   * What to do with a zone that cannot be brought to the other system: `stop` (default) throws its error, `skip` leaves the
   * zone out and notes it.
   */
  readonly onBadRecord?: OnBadRecord | undefined;
  /** Maximum bytes of memory for the result. Default: unlimited. */
  readonly memoryBytes?: number | undefined;
  /** Ends the work with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

const aStep: Kind = where('a finite number that is not 0', (given) => Number.isFinite(given) && given !== 0);
const aKnownCrs: Kind = where(
  'the coordinate system of the zones, which is stated when they are read',
  (given) => typeof given === 'string',
);
const someKnownZones: Kind = (given, path, homes) =>
  someZones(given, path, homes) ?? aRecord<Pick<Zones, 'crs'>>({ crs: aKnownCrs })(given, path, homes);
const KINDS = {
  read: aRecord<ReadZones>({ zones: someKnownZones, notes: someNotes, attributes: optional(anArrayOf(anything)) }),
  to: aRecord<ReprojectionGrid>({ crs: aText, stepX: aStep, stepY: aStep }),
  options: someOptions<ReprojectOptions>({
    onBadRecord: optional(aWord(['stop', 'skip'])),
    memoryBytes: optional(aPositive()),
    signal: optional(aSignal),
  }),
};

/**
 * Brings zones to the coordinate system of a raster, by the optional package proj4. Systems are defined by their code,
 * in the optional package epsg-index (WGS 84, zones of UTM on it and EPSG:3857 need no index), else by the text that the
 * file of the zones states (`crsText` of zones), or by a definition in place of the code.
 *
 * Vertices are projected, and points are added along edges until the image of an edge is as good as straight, so that
 * zones stay within a tenth of a cell of what their edges are in their own system. An edge that two zones share becomes the
 * same points in both, whichever way they run. If a zone has a vertex within the edge of its neighbour, the two
 * may part or overlap by a twentieth of a cell.
 *
 * A change of datum is that of seven or three parameters, or none where both are within about two metres of WGS 84. The
 * note `zones/reprojected` says which, with what the parameters are good to, and how many points were added. Grids of
 * shifts are not used. The order of axes that a definition states has no effect: easting or longitude comes first.
 *
 * The result does not depend on the order of zones, and is the same on all machines with the same version of proj4 as far as
 * functions such as sine are. About five evaluations of the projection for each vertex, and some more for each point that
 * is added. If both systems are the same, the zones are returned as they are.
 *
 * @returns The zones, with the notes and attributes that were given. With `onBadRecord: 'skip'`, `zones/not-projected`
 * notes zones that were left out, and their attributes are left out too.
 * @throws PackageError `package/missing` if proj4 is not installed.
 * @throws UsageError `crs/undefined` if a system is not known here, `crs/unsupported` if its projection is none that was
 * compared with PROJ, `crs/needs-grid` if the datum needs a grid of shifts, `crs/no-shift` if how to shift it is not
 * known, `crs/doubtful-shift` if the parameters of the index differ from those of PROJ.
 * @throws GeometryError `crs/outside` if a vertex is outside of the projection; `crs/torn` if it tears an edge, as at the
 * antimeridian, or turns a ring inside out.
 * @throws OutOfMemoryError `memory/limit`; the reason of `options.signal` if it is aborted.
 * @example
 * const read = parseZones('{ "type": "Polygon", "coordinates": [[[8, 48], [10, 48], [9, 49], [8, 48]]] }');
 * const { zones, notes } = await reprojectZones(read, { crs: 'EPSG:32632', stepX: 30, stepY: -30 });
 * [zones.crs, zones.polygons.x.length, Math.round(zones.polygons.x[0]!)]; // ['EPSG:32632', 96, 425405]
 */
export async function reprojectZones(
  read: ReadZones,
  to: ReprojectionGrid,
  options: ReprojectOptions = {},
): Promise<ReadZones> {
  requireArguments('reprojectZones', { read, to, options }, KINDS);
  const { zones, notes, attributes } = read;
  const { names, polygons, crsText, file } = zones;
  const crs = zones.crs!;
  if (sameCrs(crs, to.crs)) return read;
  const { onBadRecord, memoryBytes = Number.POSITIVE_INFINITY, signal } = options;
  const path = await crsPath({ crs, crsText }, { crs: to.crs! });
  const tally = noteTally();
  let first = '';
  const {
    polygons: brought,
    kept,
    added,
  } = await projectedRings(polygons, {
    path,
    cell: [Math.abs(to.stepX), Math.abs(to.stepY)],
    memoryBytes,
    file,
    signal,
    onFault(polygon, fault) {
      const error = notProjected(fault, { name: names[polygon]!, record: polygon, file }, [crs, to.crs!]);
      if (onBadRecord !== 'skip') throw error;
      tally.add('zones/not-projected', names[polygon]!);
      if (first === '') first = error.message;
    },
  });
  const leftOut = tally.notes({
    'zones/not-projected': (n) =>
      `${n === 1 ? '1 zone' : `${n} zones`} could not be projected and ${n === 1 ? 'was' : 'were'} left out`,
  });
  const all = kept.length === names.length;
  return {
    zones: {
      names: all ? names : kept.map((polygon) => names[polygon]!),
      polygons: brought,
      crs: to.crs,
      file,
    },
    notes: [
      ...notes,
      {
        code: 'zones/reprojected',
        message:
          `The zones were brought from ${named(crs)} to ${named(to.crs!)} by ${path.by}. ${path.told} ` +
          `${added === 1 ? '1 point was' : `${added} points were`} added along edges, to stay within a tenth of a cell.`,
        count: added,
      },
      ...leftOut.map((note) => ({ ...note, message: `${note.message} ${first}` })),
    ],
    ...(attributes && {
      attributes: all ? attributes : attributes.map(({ name, column }) => ({ name, column: rowsAt(column, kept) })),
    }),
  };
}

function named(crs: string): string {
  return shortName(normalizeCrs(crs));
}

/** Some rows of a column. */
function rowsAt(column: HostColumn, rows: readonly number[]): HostColumn {
  const { validity } = column;
  const isValid = validity && new Uint32Array(Math.ceil(rows.length / 32));
  if (validity && isValid) {
    for (const [to, row] of rows.entries())
      isValid[to >> 5]! |= ((validity[row >> 5]! >>> (row % 32)) & 1) << (to % 32);
  }
  const valid = validity && { validity: isValid };
  if (column.type === 'string')
    return { ...column, ...valid, codes: Uint32Array.from(rows, (row) => column.codes[row]!) };
  const values = column.values.slice(0, rows.length);
  for (const [to, row] of rows.entries()) values[to] = column.values[row]!;
  return { ...column, ...valid, values } as HostColumn;
}

interface ZonePlace {
  readonly name: string;
  readonly record: number;
  readonly file: string | undefined;
}

function notProjected(
  { code, sentence, at: [x, y] }: Fault,
  { name, record, file }: ZonePlace,
  [from, to]: readonly [string, string],
): GeometryError {
  return new GeometryError(
    code,
    `Zone ${quoteName(name)} ${sentence} at ${x} ${y}, from ${named(from)} to ${named(to)}.`,
    {
      remedy:
        'Cut the zone to the area of the raster, for example with ogr2ogr -clipsrc or -wrapdateline; or leave such zones ' +
        'out (--on-bad-record skip).',
      place: { file, record },
    },
  );
}
