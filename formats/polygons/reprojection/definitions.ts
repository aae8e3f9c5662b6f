import { quoteName, shortName } from '../../../algorithms/quoted-names.ts';
import { messageOf } from '../../../primitives/checks/message-of.ts';
import { isPlaceholder, normalizeCrs, sameCrs } from '../../crs.ts';
import { UsageError } from '../../usage-error.ts';
import { horizontalOf } from '../projection.ts';
import { DATUM, type IndexEntry, indexEntry, type Proj4, type Projected } from './packages.ts';

/** A coordinate system: its name, and what the file says of it besides. */
export interface StatedCrs {
  /** A code such as `EPSG:31370`, a name, or a definition. */
  readonly crs: string;
  /** Well-known text, PROJJSON or a text for PROJ. */
  readonly crsText?: string | undefined;
}

/** How places of a datum become places of WGS 84. `none`: they are taken as such. */
type Shift = 'none' | 'parameters' | 'grid' | 'unknown' | 'doubtful';

/** A coordinate system that proj4 can compute. */
export interface Definition {
  readonly system: Projected;
  readonly isGeographic: boolean;
  readonly shift: Shift;
  /** What names the datum, to tell whether two systems have the same. */
  readonly datum: string | symbol;
  /** The grid, the parameters, or the reason why there are none. */
  readonly shiftText: string;
  /** Metres by which places may be wrong in WGS 84, where it is known. */
  readonly accuracy: number | undefined;
}

/**
 * The definitions of a coordinate system, the better one first: by its code, and by the text of the file. A method of
 * projection that was not compared with PROJ, or where proj4 was found to differ, is refused.
 *
 * @throws UsageError `crs/undefined` if there is no definition, `crs/unsupported` if proj4 cannot compute any.
 */
export async function definitionsOf(stated: StatedCrs, proj4: Proj4): Promise<readonly [Definition, ...Definition[]]> {
  const name = normalizeCrs(stated.crs);
  const faults: string[] = [];
  const found: Definition[] = [];
  const attempt = (make: () => Definition): void => {
    try {
      found.push(make());
    } catch (error) {
      faults.push(messageOf(error).replace(/\.$/, ''));
    }
  };
  const isText = /^\+|[[{]/.test(name);
  const code = isText ? undefined : codeOf(name);
  let isIndexMissing = false;
  if (code !== undefined) {
    const text = builtIn(code);
    if (text !== undefined) attempt(() => byText(text, proj4, { datum: WGS84 }));
    else {
      const entry = await indexEntry(code);
      isIndexMissing = entry === 'missing';
      if (entry !== undefined && entry !== 'missing') attempt(() => byEntry(entry, proj4));
    }
  }
  const text = isText ? name : stated.crsText;
  if (text !== undefined) attempt(() => byText(text, proj4));
  const [first, ...others] = found;
  if (first !== undefined) return [first, ...others];
  if (faults.length > 0) throw unsupported(name, faults.join('; '));
  throw isIndexMissing ? needsIndex(name) : undefinedCrs(name);
}

/** The datum of WGS 84, as {@link datumName} writes it. */
const WGS84 = 'wgs 1984';

/** The number of an EPSG code. */
function codeOf(name: string): string | undefined {
  if (sameCrs(name, 'EPSG:4326')) return '4326';
  const [, code] = /^EPSG:(\d+)$/.exec({ 'OGC:CRS83': 'EPSG:4269', 'OGC:CRS27': 'EPSG:4267' }[name] ?? name) ?? [];
  return code;
}

/** Definitions that need no index: longitudes and latitudes on WGS 84, the system of web maps, and zones of UTM. */
function builtIn(code: string): string | undefined {
  if (code === '4326') return '+proj=longlat +datum=WGS84';
  if (code === '3857') return '+proj=merc +a=6378137 +b=6378137 +nadgrids=@null';
  const [, half, zone] = /^32([67])(0[1-9]|[1-5]\d|60)$/.exec(code) ?? [];
  return zone && `+proj=utm +zone=${Number(zone)}${half === '7' ? ' +south' : ''} +datum=WGS84`;
}

/** The systems of longitudes and latitudes whose parameters in epsg-index 2.0.0 are wrong, and the right ones. */
const CORRECTED: ReadonlyMap<string, readonly [towgs84: string, accuracy: number]> = new Map([
  ['4123', ['-96.062,-82.428,-121.753,4.801,0.345,-1.376,1.496', 1]],
  ['4124', ['414.1,41.3,603.1,-0.855,2.141,-7.023,0', 1]],
  ['4289', ['565.4171,50.3319,465.5524,-0.398957,0.343988,-1.8774,4.0725', 1]],
  ['4313', ['-106.8686,52.2978,-103.7239,0.3366,-0.457,1.8422,-1.2747', 1]],
]);

const codes = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/**
 * The systems of which seven parameters in epsg-index 2.0.0 agree with PROJ to a metre. Of others, angles have the wrong
 * sign or unit, which moves places by up to kilometres.
 */
const CHECKED_SEVEN = codes(
  '4134 4154 4188 4194 4195 4196 4273 4299 4300 4307 4309 4312 4614 4622 4625 4629 4643 4687 4688 4690 4691 4692 4720 6892',
);

/** The systems of which three parameters, or none, differ from what PROJ has by more than the stated accuracy. */
const DOUBTFUL = codes(
  '3906 4127 4156 4160 4197 4198 4208 4214 4218 4227 4230 4248 4253 4275 4630 4676 4705 4741 4751 6983 6990',
);

const OTHER_MERIDIAN = 'its longitudes do not begin at Greenwich';

const KINDS: readonly string[] = ['CRS-PROJCRS', 'CRS-GEOGCRS', 'CRS-GEOG3DCRS'];

function byEntry({ kind, wkt, proj4: text, unit, accuracy }: IndexEntry, proj4: Proj4): Definition {
  if (!KINDS.includes(kind) || text === null)
    throw new Error(`it is no map or longitudes and latitudes (${kind.slice(4)})`);
  if (unit === 'grad') throw new Error('its angles are in grads');
  if (/\+pm=(?!greenwich)/.test(text)) throw new Error(OTHER_MERIDIAN);
  const base = /AUTHORITY\["EPSG","(\d+)"\]\](?:,PROJECTION\[|$)/.exec(wkt ?? '')?.[1];
  const [towgs84, corrected] = CORRECTED.get(base ?? '') ?? [];
  const used = towgs84 === undefined ? text : text.replace(/\+towgs84=\S+/, `+towgs84=${towgs84}`);
  const definition = byText(used, proj4, { datum: datumName(wkt ?? '') });
  const isSeven = definition.system.datum.datum_type === DATUM.seven;
  const isDoubtful =
    (definition.shift === 'parameters' || definition.shift === 'none') &&
    towgs84 === undefined &&
    (DOUBTFUL.has(base ?? '') || (isSeven && !CHECKED_SEVEN.has(base ?? '')));
  return {
    ...definition,
    shift: isDoubtful ? 'doubtful' : definition.shift,
    accuracy: definition.shift === 'parameters' ? (corrected ?? accuracy ?? undefined) : undefined,
  };
}

/** Methods that were compared with PROJ, by the names of texts for PROJ and of well-known texts. */
const METHODS: ReadonlySet<string> = new Set([
  ...['longlat', 'latlong', 'utm', 'tmerc', 'lcc', 'aea', 'laea', 'merc', 'stere', 'sterea', 'somerc', 'omerc', 'cass'],
  ...['krovak', 'poly', 'eqc', 'cea', 'eqearth', 'nzmg', 'sinu', 'moll', 'aeqd', 'eqdc', 'bonne'],
  ...[
    'albers',
    'albers conic equal area',
    'albers equal area',
    'american polyconic',
    'polyconic',
    'double stereographic',
  ],
  ...[
    'equal earth',
    'equidistant cylindrical',
    'gauss kruger',
    'krovak north orientated',
    'lambert azimuthal equal area',
  ],
  ...['lambert conformal conic', 'lambert conformal conic 1sp', 'lambert conformal conic 2sp'],
  ...['lambert conic conformal 1sp', 'lambert conic conformal 2sp', 'mercator 1sp', 'mercator auxiliary sphere'],
  ...['mercator variant a', 'oblique stereographic', 'polar stereographic', 'polar stereographic variant a'],
  ...['polar stereographic variant b', 'stereographic south pole', 'transverse mercator'],
]);

const SEMI_MAJOR = 6378137;
/** Semi-minor axis of WGS 84. That of GRS 80 is a tenth of a millimetre shorter. */
const SEMI_MINOR = 6356752.314245;

function byText(
  stated: string,
  proj4: Proj4,
  { datum: known }: { readonly datum?: string | undefined } = {},
): Definition {
  const isProj = stated.trimStart().startsWith('+');
  const text = isProj ? withOrigin(stated) : stated.trimStart().startsWith('{') ? stated : horizontalOf(stated);
  const system = parsed(text, isProj, proj4);
  const method = system.projName
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim();
  if (!METHODS.has(method) || /\+hyperbolic\b/.test(text)) {
    throw new Error(`its projection ${quoteName(system.projName)} was not compared with PROJ`);
  }
  if (isProj && /\+proj=utm\b/.test(text) && !/\+zone=0?([1-9]|[1-5]\d|60)(\s|$)/.test(text))
    throw new Error('its zone is none of the 60 of UTM');
  const isGeographic = method === 'longlat' || method === 'latlong';
  if (!isProj) {
    // Whatever order of axes a text states, files have the easting or longitude first.
    system.axis = 'enu';
    if (isGeographic && hasOtherAngles(text)) throw new Error('its angles are not in degrees');
    if (system.from_greenwich) throw new Error(OTHER_MERIDIAN);
  }
  const name = known ?? (isProj ? (/\+datum=WGS84\b/i.test(text) ? WGS84 : undefined) : datumName(text));
  const shift = shiftOf(system, text, isProj);
  // Equal ellipsoids do not mean equal datums: a datum that nothing names is the same as no other.
  const unnamed = shift.shift === 'unknown' ? Symbol() : `${system.a} ${system.b} ${shift.shiftText}`;
  return { system, isGeographic, ...shift, datum: name ?? unnamed, accuracy: undefined };
}

/** Methods whose origin PROJ takes for 0 where it is not stated. Without it, proj4 gives no numbers. */
const WITH_ORIGIN =
  /\+proj=(tmerc|lcc|aea|laea|merc|stere|sterea|cass|poly|eqc|cea|eqearth|sinu|moll|aeqd|eqdc|bonne)\b/;

function withOrigin(text: string): string {
  const names = ['+x_0', '+y_0', ...(WITH_ORIGIN.test(text) ? ['+lat_0', '+lon_0'] : [])];
  return names.reduce((all, name) => (all.includes(`${name}=`) ? all : `${all} ${name}=0`), text);
}

function parsed(text: string, isProj: boolean, proj4: Proj4): Projected {
  const definition = text.trimStart().startsWith('{') ? horizontalJson(JSON.parse(text)) : text;
  let system: Projected;
  try {
    system = new proj4.Proj(definition);
  } catch (error) {
    // Of some texts proj4 throws a string.
    throw new Error(`proj4 does not understand its definition (${quoteName(messageOf(error))})`);
  }
  const [, named] = (isProj && /\+(?:ellps|datum)=(\S+)/i.exec(text)) || [];
  const isWgs84 = system.a === SEMI_MAJOR && Math.abs(system.b - SEMI_MINOR) < 1e-5;
  if (named !== undefined && isWgs84 && !/^wgs_?84$/i.test(named) && !/\+(a|R)=/.test(text)) {
    throw new Error(`proj4 does not know its ellipsoid or datum ${quoteName(named)}`);
  }
  return system;
}

/** The horizontal part of PROJJSON. */
function horizontalJson(json: { type?: unknown; components?: object[]; source_crs?: object }): object {
  if (json.type === 'CompoundCRS') return json.components?.[0] ?? json;
  return json.type === 'BoundCRS' ? (json.source_crs ?? json) : json;
}

function hasOtherAngles(text: string): boolean {
  return /\b(?:ANGLE)?UNIT\s*[[(]\s*"(?!deg)|"unit"\s*:\s*"(?!deg|metre)|"unit"\s*:\s*\{/i.test(text);
}

/** The name of the datum in well-known text or PROJJSON, as differently written programs have in common. */
function datumName(text: string): string | undefined {
  const [, name] =
    /\b(?:DATUM|GEODETICDATUM|TRF|ENSEMBLE)\s*[[(]\s*"(?:D_)?([^"]*)"/i.exec(text) ??
    /"datum(?:_ensemble)?"\s*:\s*\{[^{}]*?"name"\s*:\s*"([^"]*)"/i.exec(text) ??
    [];
  const plain = name
    ?.toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .trim();
  // Datums of which that is all one knows may differ.
  if (plain !== undefined && isPlaceholder(plain)) return undefined;
  return plain !== undefined && /^(wgs|world geodetic system) (19)?84( ensemble)?$/.test(plain) ? WGS84 : plain;
}

const NO_PARAMETERS = 'parameters or a grid, which its definition does not have';

/** Datums on the ellipsoid of WGS 84 or GRS 80 that are farther than metres from WGS 84. */
const FAR_DATUMS = /israel|ig05|ggrs|greek|ouvea|viet ?nam|\bngn\b|national geodetic network|kuwait utility|cyprus/;

function shiftOf(system: Projected, text: string, isProj: boolean): Pick<Definition, 'shift' | 'shiftText'> {
  const grids = /\+nadgrids=("[^"]*"|\S+)|PROJ4_GRIDS"\s*,\s*"([^"]*)"/i.exec(text);
  const grid = grids?.[1] ?? grids?.[2];
  if (grid !== undefined && grid !== '@null') return { shift: 'grid', shiftText: `a grid of shifts (${grid})` };
  if (/\+datum=nad27\b/i.test(text)) return { shift: 'grid', shiftText: 'grids of shifts, as NAD27 has them' };
  const { datum, a, b } = system;
  const isModern = Math.abs(a - SEMI_MAJOR) < 1e-3 && Math.abs(b - SEMI_MINOR) < 1e-3;
  const hasParameters = datum.datum_type === DATUM.three || datum.datum_type === DATUM.seven;
  // Well-known text names its datum only. What proj4 knows of the name is not what PROJ would take.
  if (hasParameters && (isProj || /TOWGS84/i.test(text))) {
    const stated = /(?:\+towgs84=|TOWGS84\s*[[(])\s*([-\d.,\seE+]*\d)/.exec(text)?.[1] ?? datum.datum_params!.join(',');
    return { shift: 'parameters', shiftText: `towgs84=${stated.replace(/\s/g, '')}` };
  }
  // What stands in words of PROJ is meant, also where all parameters are 0. From a sphere, places would not come back.
  if (isProj && !isModern && a !== b && /\+towgs84=/.test(text))
    return { shift: 'parameters', shiftText: 'towgs84=0,0,0' };
  const isFar = !isProj && FAR_DATUMS.test(datumName(text) ?? '');
  if (isFar) return { shift: 'unknown', shiftText: NO_PARAMETERS };
  if (grid === '@null' || (isModern && !hasParameters)) return { shift: 'none', shiftText: 'no shift' };
  return { shift: 'unknown', shiftText: NO_PARAMETERS };
}

const OTHERWISE = 'Transform the zones by another program, for example with ogr2ogr -t_srs';

function unsupported(name: string, faults: string): UsageError {
  return new UsageError('crs/unsupported', `Zones cannot be brought from or to ${shortName(name)}: ${faults}.`, {
    remedy: `${OTHERWISE}, or state the system otherwise (--zones-crs, --raster-crs): as EPSG:N, or in words of PROJ (+proj=…).`,
  });
}

function needsIndex(name: string): UsageError {
  return new UsageError(
    'crs/undefined',
    `What ${shortName(name)} is stands in the package epsg-index, which is not installed here.`,
    {
      remedy: `Install it (npm install epsg-index), state the system in words of PROJ (+proj=…), or transform the zones, for example with ogr2ogr -t_srs.`,
    },
  );
}

function undefinedCrs(name: string): UsageError {
  return new UsageError('crs/undefined', `The coordinate system ${shortName(name)} has no definition here.`, {
    remedy: `${OTHERWISE}, or state the system otherwise (--zones-crs, --raster-crs): as EPSG:N, or in words of PROJ (+proj=…).`,
  });
}
