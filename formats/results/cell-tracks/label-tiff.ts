import { encodeDirectory, encodeHeader, type Field } from '../../rasters/tiff/directory-writer.ts';
import { encodeBlock } from '../../rasters/tiff/encode.ts';

const HEADER_BYTES = 8;
const DEFLATE = 8;

/** Encodes labels, given row by row from the top, as a 16-bit grey TIFF with one deflate strip. */
export async function encodeLabelTiff(width: number, height: number, labels: Uint16Array): Promise<Uint8Array> {
  const strip = await encodeBlock(labels, {
    sample: 'u16',
    littleEndian: true,
    compression: 'deflate',
    level: 6,
    predictor: 'none',
    rowWords: width,
    interleaved: 1,
  });
  const fields: Field[] = [
    { tag: 'imageWidth', type: 'long', values: [width] },
    { tag: 'imageLength', type: 'long', values: [height] },
    { tag: 'bitsPerSample', type: 'short', values: [16] },
    { tag: 'compression', type: 'short', values: [DEFLATE] },
    { tag: 'photometricInterpretation', type: 'short', values: [1] },
    { tag: 'stripOffsets', type: 'long', values: [HEADER_BYTES] },
    { tag: 'samplesPerPixel', type: 'short', values: [1] },
    { tag: 'rowsPerStrip', type: 'long', values: [height] },
    { tag: 'stripByteCounts', type: 'long', values: [strip.length] },
    { tag: 'sampleFormat', type: 'short', values: [1] },
  ];
  // TIFF requires that a directory begins at an even offset.
  const end = HEADER_BYTES + strip.length + (strip.length % 2);
  const directory = encodeDirectory(fields, end, true, false);
  const file = new Uint8Array(end + directory.length);
  file.set(encodeHeader(end, true, false));
  file.set(strip, HEADER_BYTES);
  file.set(directory, end);
  return file;
}
