import { ArgumentError } from '../../primitives/checks/errors.ts';
import type { RasterSource } from '../geometry/raster.ts';

/**
 * Throws if rasters cannot be parts of one surface.
 *
 * @throws ArgumentError `zonal/surface-samples`, `zonal/surface-scaling` or `zonal/surface-crs`. The message names both
 * rasters.
 */
export function requireOneSurface(rasters: readonly RasterSource[]): void {
  const first = rasters[0]!;
  for (const [at, raster] of rasters.entries()) {
    const names = [nameOf(first, 0), nameOf(raster, at)] as const;
    for (const { code, what, of, remedy } of FACTS) {
      if (of(first) !== of(raster)) throw differing(code, what, names, [of(first), of(raster)], remedy);
    }
  }
}

interface Fact {
  readonly code: string;
  readonly what: string;
  of(raster: RasterSource): string;
  readonly remedy: string;
}

const FACTS: readonly Fact[] = [
  {
    code: 'zonal/surface-samples',
    what: 'type of cells',
    of: ({ sample }) => sample,
    remedy: 'Convert one of them, for example with gdal_translate -ot, or count each by itself (without --merge).',
  },
  {
    code: 'zonal/surface-scaling',
    what: 'scale and offset',
    of: ({ scaling }) => `${scaling?.scale ?? 1} and ${scaling?.offset ?? 0}`,
    remedy: 'Count the stored values (--raw) if they mean the same, or count each raster by itself (without --merge).',
  },
  {
    code: 'zonal/surface-crs',
    what: 'coordinate system',
    of: ({ crs, ownCrs, geographic }) => crs ?? ownCrs ?? (geographic ? 'longitudes and latitudes' : 'none'),
    remedy:
      'Warp one of them to the system of the other, for example with gdalwarp -t_srs; or, if all really have the same ' +
      'system, say so with --assume-crs EPSG:N.',
  },
];

function nameOf({ file }: RasterSource, at: number): string {
  return file ?? `raster ${at}`;
}

function differing(
  code: string,
  what: string,
  [first, other]: readonly [string, string],
  [expected, got]: readonly [string, string],
  remedy: string,
): ArgumentError {
  return new ArgumentError(
    code,
    `The rasters ${first} and ${other} differ in the ${what}, so they are no parts of one surface.`,
    {
      expected: `${expected} as in ${first}`,
      got: `${got} in ${other}`,
      remedy,
      place: { file: other },
    },
  );
}
