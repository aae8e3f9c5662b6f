import { FormatError } from '../../primitives/checks/errors.ts';

/**
 * Decompresses the first `max` bytes of a gzip stream, or all bytes if there are fewer. Decompression stops after `max`
 * bytes. Uses the standard `DecompressionStream`, so it also runs in browsers.
 *
 * @throws FormatError if the stream is damaged, or ends before `min` bytes.
 */
export async function gunzipPrefix(
  compressed: AsyncIterable<Uint8Array>,
  min: number,
  max: number,
  file: string,
): Promise<Uint8Array> {
  const { readable, writable } = new DecompressionStream('gzip');
  const reader = readable.getReader();
  const feeding = feed(compressed, writable.getWriter());
  // The reader below throws the same error, so this rejection is ignored.
  feeding.catch(() => {});
  const pieces: Uint8Array[] = [];
  let unpacked = 0;
  try {
    while (unpacked < max) {
      const { done, value } = await reader.read();
      if (done && unpacked < min) throw tooShort(min, unpacked, file);
      if (done) break;
      pieces.push(value);
      unpacked += value.length;
    }
  } catch (cause) {
    throw cause instanceof FormatError ? cause : await damaged(cause, unpacked, feeding, file);
  } finally {
    await reader.cancel().catch(() => {});
    await feeding.catch(() => {});
  }
  return joined(pieces, Math.min(unpacked, max));
}

type Feed = Promise<{ readonly failed?: unknown }>;

/**
 * Writes the blocks of `compressed` to `writer` until the source `compressed` ends or the reader cancels the stream. If
 * the source fails, aborts `writer` and returns the error of the source as `failed`.
 */
async function feed(compressed: AsyncIterable<Uint8Array>, writer: WritableStreamDefaultWriter): Feed {
  const iterator = compressed[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await iterator.next().catch((failed: unknown) => ({ failed }));
      if ('failed' in next) {
        await writer.abort(next.failed);
        return next;
      }
      if (next.done) break;
      await writer.write(next.value);
    }
    await writer.close();
    return {};
  } finally {
    await iterator.return?.();
  }
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece.subarray(0, length - at), at);
    at += Math.min(piece.length, length - at);
  }
  return bytes;
}

async function damaged(cause: unknown, unpacked: number, feeding: Feed, file: string): Promise<unknown> {
  const { failed } = await feeding.catch(() => ({ failed: undefined }));
  if (failed !== undefined) return failed;
  return new FormatError('format/bad-gzip', 'The gzip stream is damaged or cut off.', {
    expected: 'a whole gzip stream',
    got: `a fault after ${unpacked} unpacked bytes`,
    remedy: 'Fetch or write the file again.',
    place: { file },
    cause,
  });
}

function tooShort(length: number, unpacked: number, file: string): FormatError {
  return new FormatError('format/truncated', 'The file ends too early.', {
    expected: `${length} bytes unpacked`,
    got: `${unpacked}`,
    remedy: 'Fetch or write the file again.',
    place: { file },
  });
}
