/** Text for a file, in chunks of any size. */
export type TextChunks = Iterable<string> | AsyncIterable<string>;

/** Text or bytes for a file. */
export type FileChunks = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

const CHUNK_CHARACTERS = 65_536;

/** Joins short pieces of text into chunks of about 64 Ki characters, so that writing costs few calls. */
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
