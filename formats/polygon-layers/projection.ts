import { normalizeCrs } from '../crs.ts';

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
  return codeOfRoot(text) ?? normalizeCrs(root[2]!);
}

/**
 * The code of the whole coordinate system, from the last `AUTHORITY` or `ID` in the text. Any earlier `AUTHORITY` or
 * `ID` belongs to a component, such as the datum.
 */
function codeOfRoot(text: string): string | undefined {
  const found = /(?:AUTHORITY|ID)\s*[[(]\s*"([A-Za-z]+)"\s*,\s*"?(\w+)"?\s*(?:,[^\])]*)?[\])]\s*[\])]\s*$/i.exec(text);
  return found === null ? undefined : `${found[1]!.toUpperCase()}:${found[2]}`;
}
