import { FormatError } from '../../primitives/errors.ts';
import { readPngLabels } from './png-labels.ts';
import type { LabelType, PolygonTile, TileParameters } from './result-set.ts';
import { type Labels, traceLabels } from './trace-labels.ts';

/**
 * Traces the labels of a PNG: grey values or palette indices of up to 16 bits, 0 is background.
 *
 * @throws FormatError where the file is damaged, or has colours or transparency instead of labels.
 */
export function parseLabelPng(bytes: Uint8Array, { place, regions }: TileParameters): PolygonTile {
  const { labels, width, height } = readPngLabels(bytes, place);
  return { ...traceLabels(labels, width, height, regions), size: { width, height } };
}

/**
 * Traces bare labels, row by row and little-endian, whose size and type the parameters tell.
 *
 * @throws FormatError where the bytes are not as many as that makes.
 */
export function parseBareLabels(bytes: Uint8Array, { place, labels, regions }: TileParameters): PolygonTile {
  const { width, height, type } = labels ?? { width: 0, height: 0, type: 'u8' };
  const make = MAKERS[type];
  const size = width * height * make.size;
  if (labels === undefined || bytes.length !== size) {
    throw new FormatError('format/wrong-length', 'The labels are not as many as the image has pixels.', {
      expected: `${size} bytes for ${width} × ${height} of ${type}`,
      got: `${bytes.length} bytes`,
      remedy: 'Hand the bytes over as load() returned them, with the parameters beside it.',
      place: { file: place },
    });
  }
  // A view must begin at a multiple of its element's size.
  const aligned = bytes.byteOffset % make.size === 0 ? bytes : bytes.slice();
  return { ...traceLabels(make.view(aligned, width * height), width, height, regions), size: { width, height } };
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
};
