import { FormatError } from '../../primitives/checks/errors.ts';

/** A regular file in an archive. */
export interface TarFile {
  /** The path in the archive, at most 100 bytes. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

const BLOCK = 512;
const NAME_BYTES = 100;
const SIZE = { from: 124, to: 136 } as const;
const TYPE = 156;
const REGULAR = '0'.charCodeAt(0);

/**
 * The regular files of a tar archive; folders, links and extended headers are skipped.
 *
 * @throws FormatError `tar/damaged`
 */
export function* tarFiles(archive: Uint8Array): Generator<TarFile, void, undefined> {
  for (let at = 0; at + BLOCK <= archive.length && archive[at] !== 0; ) {
    const header = archive.subarray(at, at + BLOCK);
    const size = Number.parseInt(textOf(header.subarray(SIZE.from, SIZE.to)), 8);
    const start = at + BLOCK;
    if (!(start + size <= archive.length)) throw new FormatError('tar/damaged', 'The archive ends inside a file.');
    const isRegular = header[TYPE] === REGULAR || header[TYPE] === 0;
    if (isRegular) yield { name: textOf(header.subarray(0, NAME_BYTES)), bytes: archive.subarray(start, start + size) };
    at = start + Math.ceil(size / BLOCK) * BLOCK;
  }
}

/** The text of a field, up to the zero byte that ends it. */
function textOf(field: Uint8Array): string {
  const end = field.indexOf(0);
  return new TextDecoder().decode(end === -1 ? field : field.subarray(0, end));
}
