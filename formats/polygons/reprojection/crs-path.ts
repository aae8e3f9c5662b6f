import { shortName } from '../../../algorithms/quoted-names.ts';
import { normalizeCrs } from '../../crs.ts';
import { UsageError } from '../../usage-error.ts';
import { type Definition, definitionsOf, type StatedCrs } from './definitions.ts';
import { DATUM, loadProj4, type Projected } from './packages.ts';

/** A place, as two numbers. */
export type Place = readonly [x: number, y: number];

/** A way from one coordinate system to another. */
export interface CrsPath {
  /** The place in the other system. Its numbers are not finite where there is none. */
  forward(place: Place): Place;
  inverse(place: Place): Place;
  /** Whether the places come from longitudes and latitudes. */
  readonly fromGeographic: boolean;
  /** Metres of a unit of either system; of a degree along a meridian. */
  readonly metres: readonly [from: number, to: number];
  /** The package and its version. */
  readonly by: string;
  /** What was done about the datum, as a sentence. */
  readonly told: string;
}

/**
 * Finds a way from one coordinate system to another.
 *
 * @throws PackageError `package/missing`; UsageError `crs/undefined`, `crs/unsupported`, or, if the datums differ and how
 * is not known well enough, `crs/needs-grid`, `crs/no-shift`, `crs/doubtful-shift`.
 */
export async function crsPath(from: StatedCrs, to: StatedCrs): Promise<CrsPath> {
  const names = [normalizeCrs(from.crs), normalizeCrs(to.crs)] as const;
  const proj4 = await loadProj4(`The zones are in ${shortName(names[0])} and the raster in ${shortName(names[1])}`);
  const sources = await definitionsOf(from, proj4);
  const targets = await definitionsOf(to, proj4);
  const pairs = sources.flatMap((source) => targets.map((target) => [source, target] as const));
  const [source, target] = pairs.find(([one, other]) => obstacle(one, other) === undefined) ?? pairs[0]!;
  const obstructed = obstacle(source, target);
  if (obstructed !== undefined) throw noWay(names, obstructed === source ? 0 : 1, obstructed);
  if (source.datum === target.datum) {
    for (const { system } of [source, target]) system.datum = { ...system.datum, datum_type: DATUM.unknown };
  }
  const converter = proj4(source.system, target.system);
  return {
    forward: guarded((place) => converter.forward(place, true)),
    inverse: guarded((place) => converter.inverse(place, true)),
    fromGeographic: source.isGeographic,
    metres: [metresOf(source), metresOf(target)],
    by: `proj4 ${proj4.version}`,
    told: toldOf(source, target, names),
  };
}

/** proj4 throws on places that are not finite, and gives undefined for some. */
function guarded(convert: (place: [number, number]) => [number, number]): (place: Place) => Place {
  return ([x, y]) => {
    if (!(Number.isFinite(x) && Number.isFinite(y))) return NOWHERE;
    return convert([x, y]) ?? NOWHERE;
  };
}

const NOWHERE: Place = [Number.NaN, Number.NaN];

const METRES_PER_DEGREE = 111_319.5;

function metresOf({ isGeographic, system }: { readonly isGeographic: boolean; readonly system: Projected }): number {
  return isGeographic ? METRES_PER_DEGREE : (system.to_meter ?? 1);
}

/** The one of two systems whose datum cannot be left or reached. */
function obstacle(source: Definition, target: Definition): Definition | undefined {
  if (source.datum === target.datum) return undefined;
  return [source, target].find(({ shift }) => shift !== 'none' && shift !== 'parameters');
}

function toldOf(source: Definition, target: Definition, names: readonly [string, string]): string {
  if (source.datum === target.datum) return 'Both have the same datum.';
  const shifts = [source, target].flatMap(({ shift, shiftText, accuracy }, side) => {
    if (shift !== 'parameters') return [];
    const good = accuracy === undefined ? 'of unstated accuracy' : `good to ${accuracy} m`;
    return [`that of ${shortName(names[side]!)} was shifted by ${shiftText}, ${good}`];
  });
  if (shifts.length === 0) return 'Their datums are taken as one, which is right within about two metres.';
  return `Of their datums, ${shifts.join(', and ')}.`;
}

const CODES = { grid: 'crs/needs-grid', unknown: 'crs/no-shift', doubtful: 'crs/doubtful-shift' } as const;

function noWay(names: readonly [string, string], side: 0 | 1, { shift, shiftText, system }: Definition): UsageError {
  const name = shortName(names[side]);
  const sentence = {
    grid: `The datum of ${name} needs ${shiftText}, which is not used here.`,
    unknown: `The datum of ${name} must be shifted by ${shiftText}.`,
    doubtful: `The datum of ${name} would be shifted by ${shiftText}, which differs from what PROJ has.`,
  }[shift as keyof typeof CODES];
  const other = shortName(names[1]);
  return new UsageError(CODES[shift as keyof typeof CODES], `From ${names.map(shortName).join(' to ')}: ${sentence}`, {
    remedy:
      `Transform the zones by a program that has it, for example with ogr2ogr -t_srs ${other}; or, if less accurate ` +
      'parameters will do, state the system with them (--zones-crs, --raster-crs), as in "+proj=tmerc … +towgs84=X,Y,Z"' +
      `${system.a === system.b ? ', or, if latitudes on its sphere are those of WGS 84, with +nadgrids=@null' : ''}.`,
  });
}
