import type { Note } from '../../../algorithms/notes.ts';
import type { Beside } from '../../bytes/beside.ts';
import { utf8Text } from '../../bytes/byte-arrays.ts';
import { readOnce } from './byte-source.ts';

/**
 * What a side file of GDAL (`x.tif.aux.xml`) says of a raster and of one of its bands, as texts; undefined for what it
 * does not say.
 */
export interface SideFile {
  readonly nodata?: string | undefined;
  readonly scale?: string | undefined;
  readonly offset?: string | undefined;
  /** The six numbers of GDAL's geotransform, which place the outer corner of the first cell. */
  readonly geoTransform?: string | undefined;
  /** The coordinate system as well-known text or as a code such as `EPSG:25832`. Empty if it is stated to be unknown. */
  readonly srs?: string | undefined;
}

/** Maximum bytes of a side file that are read. Those with large attribute tables have a few MiB. */
const MAX_BYTES = 2 ** 26;

/**
 * Reads what the side file of a TIFF says of the placement of its cells, of their coordinate system, and of a band:
 * nodata value, scale and offset. Adds a note if the file cannot be read. The result is empty if there is no side file.
 *
 * @param beside - The files beside the TIFF; undefined if it has none.
 */
export async function readSideFile(beside: Beside | undefined, band: number, notes: Note[]): Promise<SideFile> {
  if (beside === undefined) return {};
  const file = `${beside.path}.aux.xml`;
  const text = await readText(beside, file);
  if (text === undefined) return {};
  const found = parseSideFile(text, band);
  if (found !== undefined) return found;
  const message = `${file} is not a complete PAMDataset in XML, or is over ${MAX_BYTES / 2 ** 20} MiB; it is ignored.`;
  notes.push({ code: 'raster/side-file-unreadable', message });
  return {};
}

/** The text of a side file; empty if it cannot be read. */
async function readText(beside: Beside, file: string): Promise<string | undefined> {
  try {
    const source = await beside.open(file);
    if (source === undefined) return undefined;
    return await readOnce(source, async ({ size }) => (size > MAX_BYTES ? '' : utf8Text(await source.read(0, size))));
  } catch {
    return '';
  }
}

/** Parses a side file. Undefined if it is not one complete `PAMDataset`. Names of elements are in any case, as in GDAL. */
export function parseSideFile(text: string, band: number): SideFile | undefined {
  const open: string[] = [];
  const found: { -readonly [key in keyof SideFile]: string } = {};
  const seen = new Set<string>();
  let [isWanted, isComplete] = [false, false];
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at)) {
    const end = endOfTag(text, at);
    if (end === -1) return undefined;
    const [, slash, name = '', attributes = ''] = /^<(\/?)([\w:.-]+)(.*?)\/?>$/s.exec(text.slice(at, end)) ?? [];
    const element = name.toLowerCase();
    at = end;
    if (element === '') continue;
    if (slash === '/') {
      if (open.pop() !== element) return undefined;
      if (open.length === 0) isComplete = element === 'pamdataset';
      continue;
    }
    if (open.length === 1 && element === 'pamrasterband') {
      isWanted = Number(/\bband\s*=\s*["']\s*(\d+)/i.exec(attributes)?.[1]) === band;
      for (const key of BAND_ELEMENTS.values()) seen.delete(key);
    }
    const isInBand = open.length === 2 && open[1] === 'pamrasterband' && isWanted;
    const key = isInBand ? BAND_ELEMENTS.get(element) : open.length === 1 ? ELEMENTS.get(element) : undefined;
    if (key !== undefined && !seen.has(key)) {
      const value = valueAt(text, at);
      if (value !== '' || key === 'srs') found[key] = exactNumber(attributes) ?? value;
      seen.add(key);
    }
    if (text[end - 2] !== '/') open.push(element);
  }
  return isComplete && open.length === 0 ? found : undefined;
}

const ELEMENTS: ReadonlyMap<string, keyof SideFile> = new Map([
  ['geotransform', 'geoTransform'],
  ['srs', 'srs'],
]);

const BAND_ELEMENTS: ReadonlyMap<string, keyof SideFile> = new Map([
  ['nodatavalue', 'nodata'],
  ['scale', 'scale'],
  ['offset', 'offset'],
]);

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['quot', '"'],
  ['apos', "'"],
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
]);

const DATA = '<![CDATA[';

/** The text up to the next tag, or in a section of character data. */
function valueAt(text: string, at: number): string {
  const next = text.indexOf('<', at);
  const value = text.slice(at, next === -1 ? undefined : next).trim();
  if (value !== '' || !text.startsWith(DATA, next)) return unescaped(value);
  return text.slice(next + DATA.length, endOfTag(text, next) - ']]>'.length).trim();
}

function unescaped(text: string): string {
  return text.replaceAll(/&(\w+);/g, (whole, name: string) => ENTITIES.get(name) ?? whole);
}

/** The position after the tag, comment or declaration that begins at `at`; -1 if it has no end. */
function endOfTag(text: string, at: number): number {
  const close = text.startsWith('<!--', at) ? '-->' : text.startsWith(DATA, at) ? ']]>' : '>';
  const end = text.indexOf(close, at);
  return end === -1 ? -1 : end + close.length;
}

/** The nodata value as the bytes of an f64, which GDAL writes if the decimal text would not be exact. */
function exactNumber(attributes: string): string | undefined {
  const [, digits] = /\ble_hex_equiv\s*=\s*["']([0-9a-f]{16})["']/i.exec(attributes) ?? [];
  if (digits === undefined) return undefined;
  const bytes = new DataView(new ArrayBuffer(8));
  bytes.setBigUint64(0, BigInt(`0x${digits}`));
  return String(bytes.getFloat64(0, true));
}
