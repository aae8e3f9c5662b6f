import { PIXEL_IS_POINT, RASTER_TYPE } from './crs-keys.ts';
import { TAG, type TagName, type TiffDirectory } from './directory.ts';
import type { Field } from './directory-writer.ts';
import { tiedPlacement } from './georeference.ts';
import { YCBCR } from './layout.ts';
import type { SideFile } from './side-file.ts';

/** Tags of a GeoTIFF by their numbers, with their values. */
export type KeptTags = Readonly<Record<string, readonly number[] | string>>;

const PLACE: readonly TagName[] = ['modelPixelScale', 'modelTiepoint', 'modelTransformation'];
const KEYS: readonly TagName[] = ['geoKeyDirectory', 'geoDoubleParams'];
const COLOURS: readonly TagName[] = ['photometricInterpretation', 'extraSamples', 'colorMap'];

/** The number of colours that are red, green and blue. */
const RGB = 2;

/** Types of those tags that are not doubles. */
const TYPES: { readonly [K in TagName]?: 'short' } = {
  geoKeyDirectory: 'short',
  photometricInterpretation: 'short',
  extraSamples: 'short',
  colorMap: 'short',
};

/** Maximum number of values, and of characters, of a tag that is kept. */
const MAX_VALUES = 1024;
const MAX_TEXT = 2 ** 16;

/**
 * The tags that say where the cells of a GeoTIFF are, in which coordinate system, and in which colours: as far as they
 * hold, for a side file may say something else, and colours are those of all bands.
 */
export async function keepTags(directory: TiffDirectory, side: SideFile, hasAllBands: boolean): Promise<KeptTags> {
  const kept: Record<string, readonly number[] | string> = {};
  const keepNumbers = async (names: readonly TagName[]): Promise<void> => {
    if (names.some((name) => directory.count(name) > MAX_VALUES)) return;
    for (const name of names) {
      const values = await directory.numbers(name);
      if (values?.every(Number.isFinite)) kept[TAG[name]] = [...values];
    }
  };
  const keepText = async (name: TagName): Promise<void> => {
    const text = directory.count(name) > MAX_TEXT ? undefined : await directory.text(name, MAX_TEXT);
    if (text !== undefined && isAscii(text)) kept[TAG[name]] = text;
  };
  // Without them, or with tie points alone, a world file states the placement.
  if (side.geoTransform === undefined && (await tiedPlacement(directory, [])) !== undefined) await keepNumbers(PLACE);
  if (side.srs === undefined) {
    await keepNumbers(KEYS);
    await keepText('geoAsciiParams');
  }
  if (!hasAllBands) return kept;
  await keepNumbers(COLOURS);
  // Luma and chroma are read as red, green and blue.
  const colours = TAG.photometricInterpretation;
  if (kept[colours]?.[0] === YCBCR) kept[colours] = [RGB];
  if (side.scale === undefined && side.offset === undefined) await keepText('gdalMetadata');
  return kept;
}

function isAscii(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII begins with control characters.
  return /^[\x01-\x7f]*$/.test(text);
}

/** The fields to write for kept tags. */
export function fieldsOf(kept: KeptTags): Field[] {
  const names = Object.keys(TAG) as TagName[];
  return names.flatMap((tag): Field[] => {
    const value = kept[TAG[tag]];
    if (value === undefined) return [];
    if (typeof value === 'string') return [{ tag, type: 'ascii', text: value }];
    return [{ tag, type: TYPES[tag] ?? 'double', values: value }];
  });
}

/** The values of a tag of numbers; undefined if it is not kept. */
export function keptOf(kept: KeptTags | undefined, tag: TagName): readonly number[] | undefined {
  const value = kept?.[TAG[tag]];
  return typeof value === 'string' ? undefined : value;
}

/** Whether geo keys say that cells are points. */
export function isPixelPoint(keys: readonly number[] | undefined): boolean {
  if (keys === undefined) return false;
  const at = keys.findIndex((key, i) => i >= 4 && i % 4 === 0 && key === RASTER_TYPE);
  return at > 0 && keys[at + 3] === PIXEL_IS_POINT;
}

/** The kept tags of a part of the raster, of which the first cell is at another place. */
export function movedBy(kept: KeptTags, { column, row }: { readonly column: number; readonly row: number }): KeptTags {
  const [ties, matrix] = [keptOf(kept, 'modelTiepoint'), keptOf(kept, 'modelTransformation')];
  const moved: Record<string, readonly number[] | string> = { ...kept };
  if (ties !== undefined) {
    moved[TAG.modelTiepoint] = ties.map((value, i) => value - (i % 6 === 0 ? column : i % 6 === 1 ? row : 0));
  }
  if (matrix !== undefined && matrix.length >= 8) {
    const [a, b, , , c, d] = matrix as [number, number, number, number, number, number];
    const shifts = new Map([
      [3, column * a + row * b],
      [7, column * c + row * d],
    ]);
    moved[TAG.modelTransformation] = matrix.map((value, i) => value + (shifts.get(i) ?? 0));
  }
  return moved;
}
