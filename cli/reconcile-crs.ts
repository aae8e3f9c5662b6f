import type { Zones } from '../algorithms/geometry/polygons.ts';
import type { RasterSource } from '../algorithms/geometry/raster.ts';
import type { Note } from '../algorithms/notes.ts';
import { shortName } from '../algorithms/quoted-names.ts';
import { findNoLatitude, isGeographicCrs, sameCrs } from '../formats/crs.ts';
import { UsageError } from '../formats/usage-error.ts';
import { GeometryError } from '../primitives/checks/errors.ts';

/** A raster with its coordinate system, and notes on the system if it was assumed. */
export interface Reconciled {
  readonly raster: RasterSource;
  readonly notes: readonly Note[];
}

/** Paths of the files, as given by the user. */
interface InputFiles {
  readonly zones: string;
  readonly raster: string;
}

/**
 * Makes sure that zones and raster have the same coordinate reference system, to which the zones have been brought. If only one file states a system, the
 * other file is assumed to have the same system, and a note says so. If `assumed` is given, both files are taken to
 * have the system `assumed`, and no error is thrown.
 *
 * @throws UsageError `input/crs-mismatch` if the rasters of a run state different systems, or the raster one without a code, which
 * may be any; also if the zones are in longitudes and latitudes, but the raster states no system and its cells cannot be.
 * @throws GeometryError `crs/no-longitudes` if the raster is in longitudes and latitudes, but the zones state no system
 * and have coordinates that cannot be latitudes.
 */
export function reconcileCrs(
  zones: Zones,
  raster: RasterSource,
  assumed: string | undefined,
  files: InputFiles,
): Reconciled {
  if (assumed !== undefined) return { raster: withCrs(raster, assumed), notes: [] };
  if (sameCrs(zones.crs, raster.crs)) return { raster, notes: [] };
  if (zones.crs !== undefined && raster.crs !== undefined) throw mismatch(zones.crs, raster.crs, files);
  if (zones.crs !== undefined) {
    if (raster.ownCrs !== undefined) throw ownMismatch(zones.crs, raster, files);
    if (isGeographicCrs(zones.crs) && !mayBeDegrees(raster)) throw noDegrees(zones.crs, raster, files);
    return { raster: withCrs(raster, zones.crs), notes: [taken('raster', 'zones', zones.crs)] };
  }
  const strange = raster.geographic ? findNoLatitude(zones.polygons.y) : undefined;
  if (strange !== undefined) throw noLongitudes(strange, zones, raster.crs, files);
  return { raster, notes: [taken('zones', 'raster', raster.crs ?? raster.ownCrs)] };
}

/** The raster with the system that the user states for it, by a code or a definition. */
export function withStatedCrs(raster: RasterSource, crs: string | undefined): RasterSource {
  if (crs === undefined) return raster;
  return { ...withCrs(raster, crs), geographic: isGeographicCrs(crs) || /^\+proj=(longlat|latlong)|^GEOG/i.test(crs) };
}

function withCrs(raster: RasterSource, crs: string): RasterSource {
  return { ...raster, crs, ownCrs: undefined, geographic: isGeographicCrs(crs) };
}

function taken(silent: string, speaking: string, crs: string | undefined): Note {
  const reading = crs === undefined ? 'which is not known either' : shortName(crs);
  const message = `The coordinate system of the ${silent} is not known; assumed to be that of the ${speaking}, ${reading}.`;
  return { code: 'zonal/crs-assumed', message };
}

function noLongitudes(
  y: number,
  { polygons }: Zones,
  crs: string | undefined,
  { zones, raster }: InputFiles,
): GeometryError {
  const maySwap = findNoLatitude(polygons.x) === undefined && polygons.y.every((degrees) => Math.abs(degrees) <= 360);
  const degrees = crs === undefined ? 'longitudes and latitudes' : `longitudes and latitudes, ${crs}`;
  return new GeometryError(
    'crs/no-longitudes',
    `${zones} names no coordinate system and its coordinates cannot be longitudes and latitudes, but ${raster} is in ` +
      `${degrees}.`,
    {
      expected: 'latitudes from -90 to 90',
      got: y,
      remedy:
        `Use zones in longitudes and latitudes${maySwap ? ', in this order (they may be swapped)' : ''}; or, if both files share ` +
        'another system, name it with --assume-crs EPSG:N.',
    },
  );
}

function mismatch(zones: string, raster: string, files: InputFiles): UsageError {
  return new UsageError(
    'input/crs-mismatch',
    `${files.zones} is in ${shortName(zones)}, but ${files.raster} is in ${shortName(raster)}.`,
    {
      remedy:
        'Count rasters of different systems in runs of their own, or warp them to one with gdalwarp -t_srs; or, if all ' +
        `really have the same system, say so with --assume-crs ${/^[A-Z]+:\w+$/.test(raster) ? raster : 'EPSG:N'}.`,
    },
  );
}

function ownMismatch(zones: string, { ownCrs, geographic }: RasterSource, files: InputFiles): UsageError {
  const assumption = geographic ? '--assume-crs EPSG:4326' : ANY_CODE;
  return new UsageError(
    'input/crs-mismatch',
    `${files.zones} is in ${shortName(zones)}, but ${files.raster} states ${ownCrs}.`,
    {
      remedy:
        'Say which system that is with --raster-crs EPSG:N or "+proj=…"; or, if both really have the same system, say so ' +
        `with ${assumption}.`,
    },
  );
}

const ANY_CODE = '--assume-crs EPSG:N; coordinates are not changed, so the code of any projected system will do';

/** Longitudes of rasters are within this many degrees of 0: a turn and a half. */
const MAX_LONGITUDE = 540;

/** Whether the cells of a raster may be in degrees. Those at the poles may extend half a cell beyond them. */
function mayBeDegrees(raster: RasterSource): boolean {
  const { x, y } = extentOf(raster);
  // The factor allows for rounding.
  const maxLatitude = 90 + Math.abs(raster.stepY) * (0.5 + 2 ** -20);
  return x.every((end) => Math.abs(end) <= MAX_LONGITUDE) && y.every((end) => Math.abs(end) <= maxLatitude);
}

function extentOf({ originX, originY, stepX, stepY, width, height }: RasterSource) {
  return { x: [originX, originX + width * stepX], y: [originY, originY + height * stepY] };
}

function noDegrees(zones: string, raster: RasterSource, files: InputFiles): UsageError {
  const { x, y } = extentOf(raster);
  return new UsageError(
    'input/crs-mismatch',
    `${files.zones} is in ${shortName(zones)}, but ${files.raster} states no system and its cells cannot be longitudes and latitudes.`,
    {
      expected: `x from -${MAX_LONGITUDE} to ${MAX_LONGITUDE}, y from -90 to 90`,
      got: `x from ${Math.min(...x)} to ${Math.max(...x)}, y from ${Math.min(...y)} to ${Math.max(...y)}`,
      remedy: `Say which system the raster has with --raster-crs EPSG:N or "+proj=…"; or, if both really have the same system, say so with ${ANY_CODE}.`,
    },
  );
}
