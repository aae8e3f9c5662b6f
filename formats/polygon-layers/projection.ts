/**
 * The coordinate system described by a well-known text (WKT), as in a `.prj` file. If the text states the code of an
 * authority (`EPSG:32633`), the result is this code. Otherwise the result is the known code for the name of the system,
 * or the name itself if no code is known.
 *
 * @returns Undefined if the text does not describe a coordinate system.
 */
export function crsOfWkt(text: string): string | undefined {
  const root = /^\s*([A-Z0-9_]+)\s*[[(]\s*"([^"]*)"/i.exec(text);
  if (root === null) return undefined;
  const name = root[2]!;
  return codeOfRoot(text) ?? codeOfName(name) ?? name;
}

/**
 * The code of the whole coordinate system, from the last `AUTHORITY` or `ID` in the text. Any earlier `AUTHORITY` or
 * `ID` belongs to a component, such as the datum.
 */
function codeOfRoot(text: string): string | undefined {
  const found = /(?:AUTHORITY|ID)\s*[[(]\s*"([A-Za-z]+)"\s*,\s*"?(\w+)"?\s*(?:,[^\])]*)?[\])]\s*[\])]\s*$/i.exec(text);
  return found === null ? undefined : `${found[1]!.toUpperCase()}:${found[2]}`;
}

/** Codes of coordinate systems by their names, in lower case. Esri's software writes these names without a code. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['gcs_wgs_1984', 'EPSG:4326'],
  ['wgs 84', 'EPSG:4326'],
  ['gcs_north_american_1983', 'EPSG:4269'],
  ['nad83', 'EPSG:4269'],
  ['gcs_north_american_1927', 'EPSG:4267'],
  ['gcs_etrs_1989', 'EPSG:4258'],
  ['gcs_gda_1994', 'EPSG:4283'],
  ['wgs_1984_web_mercator_auxiliary_sphere', 'EPSG:3857'],
  ['etrs_1989_laea', 'EPSG:3035'],
]);

const UTM = /^(wgs_1984|nad_1983|etrs_1989)_utm_zone_([1-9]|[1-5]\d|60)(n|s)$/;

function codeOfName(name: string): string | undefined {
  const lower = name.toLowerCase();
  const utm = UTM.exec(lower);
  if (utm === null) return NAMES.get(lower);
  const zone = Number(utm[2]);
  if (utm[1] === 'wgs_1984') return `EPSG:${(utm[3] === 'n' ? 32600 : 32700) + zone}`;
  if (utm[3] === 's') return undefined;
  const [first, last, base] = utm[1] === 'nad_1983' ? [1, 23, 26900] : [28, 38, 25800];
  return zone >= first && zone <= last ? `EPSG:${base + zone}` : undefined;
}
