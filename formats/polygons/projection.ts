import { crsByName } from '../crs.ts';

/**
 * The coordinate system described by a well-known text (WKT), as in a `.prj` file, without its vertical part. If the text states the code of an
 * authority (`EPSG:32633`), the result is this code. Otherwise the result is the known code for the name of the system,
 * the name itself if no code is known, or the text if the name says nothing.
 *
 * @returns Undefined if the text does not describe a coordinate system.
 */
export function crsOfWkt(wkt: string): string | undefined {
  const text = horizontalOf(wkt);
  const root = /^\s*([A-Z0-9_]+)\s*[[(]\s*"([^"]*)"/i.exec(text);
  if (root === null) return undefined;
  return codeOfRoot(text) ?? crsByName(root[2]!, text);
}

/** The horizontal system of a text: the first one in a compound, or the one in front of a vertical system. */
export function horizontalOf(text: string): string {
  const start = /^\s*COMP(?:D_CS|OUNDCRS)\s*[[(]\s*"[^"]*"\s*,/i.exec(text)?.[0].length ?? 0;
  let [depth, isQuoted] = [0, false];
  for (let at = start; at < text.length; at++) {
    const letter = text[at]!;
    if (letter === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if ('[('.includes(letter)) depth++;
    else if ('])'.includes(letter) && --depth === 0) return text.slice(start, at + 1);
  }
  return text;
}

/**
 * The code of the whole coordinate system, from the last `AUTHORITY` or `ID` in the text. Any earlier `AUTHORITY` or
 * `ID` belongs to a component, such as the datum.
 */
function codeOfRoot(text: string): string | undefined {
  const found = /(?:AUTHORITY|ID)\s*[[(]\s*"([A-Za-z]+)"\s*,\s*"?(\w+)"?\s*(?:,[^\])]*)?[\])]\s*[\])]\s*$/i.exec(text);
  return found === null ? undefined : `${found[1]!.toUpperCase()}:${found[2]}`;
}
