/** The text of a file, in chunks of any size. */
export type TextChunks = Iterable<string> | AsyncIterable<string>;

/** The contents of a file, in chunks of text or bytes. */
export type FileChunks = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

const CHUNK_CHARACTERS = 65_536;

/** Joins short strings into chunks of about 64 Ki characters, to reduce the number of write calls. */
export function* inChunks(pieces: Iterable<string>): Generator<string, void, undefined> {
  let chunk = '';
  for (const piece of pieces) {
    chunk += piece;
    if (chunk.length >= CHUNK_CHARACTERS) {
      yield chunk;
      chunk = '';
    }
  }
  if (chunk !== '') yield chunk;
}
