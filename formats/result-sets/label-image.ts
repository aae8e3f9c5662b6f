import type { ImageSize } from '../../algorithms/cross-compare/tile-comparison.ts';
import type { LabelRegions } from '../../algorithms/label-images/label-regions.ts';
import type { Note } from '../../algorithms/notes.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { anInstance } from '../../primitives/checks/kinds.ts';
import { gatherRegions, type LabelledRegions } from './gather-regions.ts';
import { type LabelRows, type Labels, rowsOf } from './label-rows.ts';
import { componentsNotes, namesOfRegions } from './name-regions.ts';
import { openPngLabels } from './png-labels.ts';
import {
  type LabelType,
  type PolygonTile,
  someParameters,
  type TextColumn,
  type TileParameters,
} from './result-set.ts';
import { traceRegions } from './trace-labels.ts';

/** The regions of a label image, stored as runs of pixels instead of outlines. */
export interface LabelTile {
  readonly ids: TextColumn;
  readonly labels: LabelRegions;
  readonly notes: readonly Note[];
  readonly size: { readonly width: number; readonly height: number };
}

/**
 * Reads the regions of a label image from the bytes of its tile, as runs of pixels. The regions have the same order and
 * names as the polygons that `parseTile` reads from the same bytes.
 *
 * @throws FormatError as in `parseTile`; OutOfMemoryError `memory/limit` if the runs take more than
 * `parameters.memoryBytes`.
 * @example
 * const size = { width: 2, height: 2, type: 'u8' } as const;
 * const { labels } = parseLabels(Uint8Array.of(0, 7, 7, 7), { format: 'nifti', place: 'a', labels: size });
 * [labels.start, labels.end, labels.area]; // [Uint32Array [1, 0], Uint32Array [2, 2], BigUint64Array [3n]]
 */
export function parseLabels(bytes: Uint8Array, parameters: TileParameters): LabelTile {
  const kinds = { bytes: anInstance(Uint8Array), parameters: someParameters };
  requireArguments('parseLabels', { bytes, parameters }, kinds);
  const { regions, labels } = readRegions(bytes, parameters);
  const notes = componentsNotes(labels).map((note) => ({ ...note, message: `${parameters.place}: ${note.message}` }));
  return { ids: namesOfRegions(labels), labels: regions, notes, size: sizeOf(regions, parameters) };
}

/**
 * Traces the outlines of the regions in a label image; label 0 is background. The image is a PNG with grey values or
 * palette indices of up to 16 bits, or it consists of bare labels without a header. Bare labels are stored row by row
 * in little-endian order; the parameters state the image's size and the type of the labels.
 *
 * @throws FormatError if a PNG is damaged, or has colours or transparency instead of labels; also if the number of bare
 * labels differs from the number of pixels.
 */
export function traceLabelImage(bytes: Uint8Array, parameters: TileParameters): PolygonTile {
  const found = readRegions(bytes, parameters);
  return { ...traceRegions(found), size: sizeOf(found.regions, parameters) };
}

function sizeOf({ width, height }: LabelRegions, { labels }: TileParameters): ImageSize {
  return labels?.grid === undefined ? { width, height } : { width, height, grid: labels.grid };
}

function readRegions(bytes: Uint8Array, parameters: TileParameters): LabelledRegions {
  const { format, place, regions, memoryBytes } = parameters;
  const rows = format === 'png' ? openPngLabels(bytes, place, memoryBytes) : bareRows(bytes, parameters);
  return gatherRegions(rows, { regions, memoryBytes, place: { file: place } });
}

function bareRows(bytes: Uint8Array, { place, labels }: TileParameters): LabelRows {
  const { width, height, type } = labels ?? { width: 0, height: 0, type: 'u8' };
  const make = MAKERS[type];
  const size = width * height * make.size;
  if (labels === undefined || bytes.length !== size) {
    throw new FormatError('format/wrong-length', 'The number of labels is not the number of pixels.', {
      expected: `${size} bytes for ${width} × ${height} of ${type}`,
      got: `${bytes.length} bytes`,
      remedy: 'Pass the bytes that load() returned, with the parameters of the same tile.',
      place: { file: place },
    });
  }
  // A typed array must begin at a multiple of its element size, so unaligned bytes are copied.
  const aligned = bytes.byteOffset % make.size === 0 ? bytes : bytes.slice();
  return rowsOf(make.view(aligned, width * height), width, height);
}

interface LabelMaker {
  readonly size: number;
  readonly view: (bytes: Uint8Array, length: number) => Labels;
}

const MAKERS: Readonly<Record<LabelType, LabelMaker>> = {
  u8: { size: 1, view: ({ buffer, byteOffset }, length) => new Uint8Array(buffer, byteOffset, length) },
  i8: { size: 1, view: ({ buffer, byteOffset }, length) => new Int8Array(buffer, byteOffset, length) },
  u16: { size: 2, view: ({ buffer, byteOffset }, length) => new Uint16Array(buffer, byteOffset, length) },
  i16: { size: 2, view: ({ buffer, byteOffset }, length) => new Int16Array(buffer, byteOffset, length) },
  u32: { size: 4, view: ({ buffer, byteOffset }, length) => new Uint32Array(buffer, byteOffset, length) },
  i32: { size: 4, view: ({ buffer, byteOffset }, length) => new Int32Array(buffer, byteOffset, length) },
  f64: { size: 8, view: ({ buffer, byteOffset }, length) => new Float64Array(buffer, byteOffset, length) },
};
