import type { FormatError } from '../../../primitives/checks/errors.ts';
import { isGeographicCrs, normalizeCrs } from '../../crs.ts';
import { crsOfWkt, horizontalOf } from '../../polygons/projection.ts';
import { describeOwn, geocentric, type RasterCrs } from './crs-keys.ts';

/**
 * The coordinate system that a side file states, as well-known text or as a code. A text without a known code describes
 * a system of its own. Of a compound, the system is the horizontal one. An empty text states that the system is
 * unknown, whatever the tags of the TIFF say.
 *
 * @param badUnit - Returns the error for an angular unit other than degrees.
 */
export function sideCrs(text: string, badUnit: (unit: string) => FormatError): RasterCrs {
  if (text === '') return { crs: undefined, geographic: false };
  const srs = horizontalOf(text);
  const name = crsOfWkt(srs) ?? normalizeCrs(srs);
  const kind = KINDS.find(([keyword]) => keyword.test(srs))?.[1];
  const geographic = kind === 'geographic' || isGeographicCrs(name);
  const unit = geographic ? OTHER_UNIT.exec(srs)?.[1] : undefined;
  if (unit !== undefined) throw badUnit(unit);
  const code = /^([A-Z]+):(\w+)$/.exec(name);
  if (code !== null && kind !== 'geocentric') return { crs: name, geographic };
  return { crs: undefined, ownCrs: code === null ? describeOwn(kind, name) : geocentric(code[2]!), geographic };
}

/** Kinds of coordinate systems by the first keyword of their well-known text. */
const KINDS: readonly (readonly [keyword: RegExp, kind: string])[] = [
  [/^\s*PROJ/i, 'projected'],
  [/^\s*GEOG/i, 'geographic'],
  [/^\s*GEOCCS/i, 'geocentric'],
];

/** Matches an angular unit other than degrees. */
const OTHER_UNIT = /\b(?:ANGLE)?UNIT\s*[[(]\s*"((?!deg)[^"]*)"/i;
