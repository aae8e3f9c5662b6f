import { GraphError } from '../../primitives/checks/errors.ts';
import { badBytes, WIRE_VERSION } from './wire-form.ts';
import { readPieces, readValue } from './wire-reader.ts';
import { joined, writePieces, writeValue } from './wire-writer.ts';

/** The first bytes of the wire form: `QW` and the version. */
const HEADER = Uint8Array.of(0x51, 0x57, WIRE_VERSION);

/** Joins values in the wire form to the wire form of an array. The values have no objects in common. */
export async function packed(values: readonly Uint8Array[]): Promise<Uint8Array> {
  return joined([HEADER, await writePieces(values)]);
}

/**
 * Takes the wire form of an array apart. Read each value with `readValue`.
 *
 * @throws `GraphError` `graph/remote-version` for another version of the wire form, `graph/remote-bytes` for bytes that
 * are not of this form.
 */
export function unpacked(bytes: Uint8Array): readonly Uint8Array[] {
  if (bytes[0] !== HEADER[0] || bytes[1] !== HEADER[1]) throw badBytes('it does not begin as one', 0);
  if (bytes.length < HEADER.length) throw badBytes('it ends too early', bytes.length);
  if (bytes[2] !== WIRE_VERSION) {
    throw new GraphError('graph/remote-version', 'Another version of the package wrote a message between processes.', {
      expected: `version ${WIRE_VERSION} of the wire form`,
      got: `version ${bytes[2]}`,
      remedy: 'Run the same version of the package in all processes.',
    });
  }
  return readPieces(bytes, HEADER.length);
}

/** Encodes the values of an array in the wire form. */
export async function encodeItems(items: readonly unknown[]): Promise<Uint8Array> {
  return packed(await Promise.all(items.map((item, i) => writeValue(item, `items[${i}]`))));
}

/** Decodes the wire form of an array. Columns land on the context that `landing` returns. */
export function decodeItems(bytes: Uint8Array, landing: () => unknown = () => undefined): unknown[] {
  return unpacked(bytes).map((each) => readValue(each, landing));
}
