import type { Scaling } from '../../../algorithms/geometry/raster.ts';
import type { Note } from '../../../algorithms/notes.ts';
import { parseNumber } from './nodata.ts';

/** Scale and offset of a band as texts; undefined for what is not stated. */
export interface ScalingTexts {
  readonly scale?: string | undefined;
  readonly offset?: string | undefined;
}

/** The scale and the offset of a band in GDAL's metadata. Bands are numbered from 1. */
export function scalingTexts(metadata: string | undefined, band: number): ScalingTexts {
  return { scale: itemOf(metadata, 'scale', band), offset: itemOf(metadata, 'offset', band) };
}

/**
 * Returns the scaling that is applied to stored values, and notes it. With `raw`, none is, and the note says what it would
 * have been.
 */
export function usedScaling(texts: ScalingTexts, raw: boolean, notes: Note[]): Scaling | undefined {
  const scaling = readScaling(texts, notes);
  if (scaling === undefined) return undefined;
  const { scale, offset } = scaling;
  const formula = `${scale} × stored ${offset < 0 ? '-' : '+'} ${Math.abs(offset)}`;
  if (raw) {
    const message = `Stored values are counted; the file's scale and offset would make them ${formula}.`;
    notes.push({ code: 'raster/scaling-left-out', message });
    return undefined;
  }
  const message = `Values are ${formula}, by the file's scale and offset; --raw counts stored values.`;
  notes.push({ code: 'raster/scaled', message });
  return scaling;
}

/**
 * Returns the scale (default 1) and the offset (default 0) of a band.
 * Returns undefined if scale and offset would not change any value. If the scale or the offset is not a usable number,
 * adds a note and returns undefined.
 */
function readScaling(texts: ScalingTexts, notes: Note[]): Scaling | undefined {
  const scale = numberOf(texts.scale, 1);
  const offset = numberOf(texts.offset, 0);
  if (scale === undefined || offset === undefined || scale === 0) {
    const message = 'The scale or the offset of the band is not a usable number; stored values are counted.';
    notes.push({ code: 'raster/scaling-unusable', message });
    return undefined;
  }
  return scale === 1 && offset === 0 ? undefined : { scale, offset };
}

function numberOf(text: string | undefined, otherwise: number): number | undefined {
  if (text === undefined) return otherwise;
  const value = parseNumber(text.trim());
  return value !== undefined && Number.isFinite(value) ? value : undefined;
}

/**
 * Returns the text of an item in GDAL's metadata, such as `<Item name="SCALE" sample="0" role="scale">0.1</Item>`. The
 * item is found by its role and band.
 */
function itemOf(metadata = '', role: string, band: number): string | undefined {
  for (const [, attributes, text] of metadata.matchAll(/<Item\b([^>]*)>([^<]*)<\/Item>/g)) {
    const named = new Map(
      [...attributes!.matchAll(/(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, name, a, b]) => [name!, a ?? b!]),
    );
    if (named.get('role') === role && named.get('sample') === String(band - 1)) return text;
  }
  return undefined;
}

/** The text of GDAL's metadata with scale and offset of bands; undefined if none has any. */
export function scalingMetadata(bands: readonly ScalingTexts[]): string | undefined {
  const items = bands.flatMap((texts, sample) =>
    (['offset', 'scale'] as const)
      .filter((role) => texts[role] !== undefined)
      .map(
        (role) =>
          `  <Item name="${role.toUpperCase()}" sample="${sample}" role="${role}">${escaped(texts[role]!)}</Item>\n`,
      ),
  );
  return items.length === 0 ? undefined : `<GDALMetadata>\n${items.join('')}</GDALMetadata>\n`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
