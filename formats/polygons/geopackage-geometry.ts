import { FormatError } from '../../primitives/checks/errors.ts';
import { describeFeature, type FeaturePlace } from './feature.ts';

/** A geometry of a GeoPackage: its well-known binary, and the number of its coordinate system in the package. */
export interface PackageGeometry {
  readonly wkb: DataView;
  readonly srsId: number;
}

const HEAD_BYTES = 8;
/** Bytes of the envelope by its kind: none, XY, XYZ, XYM, XYZM. */
const ENVELOPE_BYTES = [0, 32, 48, 48, 64];
const LITTLE_ENDIAN = 1;
const EXTENDED = 32;

/**
 * Takes a geometry in the binary format of GeoPackage (OGC 12-128r19, 2.1.3) apart. Its envelope is not used, as nothing says
 * that it is right; nor is the flag of empty geometries, which writers set or not.
 *
 * @throws FormatError `format/malformed-geopackage`.
 */
export function packageGeometry(bytes: Uint8Array, at: FeaturePlace): PackageGeometry {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEAD_BYTES || bytes[0] !== 0x47 || bytes[1] !== 0x50) {
    throw damaged('a geometry that begins with GP', 'other bytes', at);
  }
  const flags = bytes[3]!;
  if ((flags & EXTENDED) !== 0) throw damaged('a geometry of the standard', 'one of an extension', at);
  const envelope = ENVELOPE_BYTES[(flags >> 1) & 7];
  if (envelope === undefined) throw damaged('an envelope of kind 0 to 4', `kind ${(flags >> 1) & 7}`, at);
  const start = HEAD_BYTES + envelope;
  if (start > bytes.length) throw damaged(`${start} bytes or more`, `${bytes.length}`, at);
  return {
    wkb: new DataView(bytes.buffer, bytes.byteOffset + start, bytes.length - start),
    srsId: view.getInt32(4, (flags & LITTLE_ENDIAN) !== 0),
  };
}

function damaged(expected: string, got: string, at: FeaturePlace): FormatError {
  return new FormatError('format/malformed-geopackage', `The geometry of ${describeFeature(at)} is damaged.`, {
    expected,
    got,
    remedy: 'Copy the file again, or write it again.',
    place: { file: at.file, record: at.index },
  });
}
