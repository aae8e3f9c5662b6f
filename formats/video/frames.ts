import { FormatError } from '../../primitives/checks/errors.ts';
import { UsageError } from '../usage-error.ts';
import type { Grey, Video, VideoFrame, VideoReader } from './video.ts';
import { noFrames } from './video-error.ts';

/** Creates a video from the reader of its format. */
export function videoOf(name: string, reader: VideoReader): Video {
  const { format, width, height, bits, frameCount, frameRate, pixelSize, notes } = reader;
  const closing = new AbortController();
  let isRead = false;
  const close = async (): Promise<void> => {
    if (!closing.signal.aborted) closing.abort(closedError(name));
    await reader.close();
  };
  return {
    ...{ name, format, width, height, bits, frameCount, frameRate, pixelSize, notes, close },
    frames({ signal } = {}) {
      if (isRead) throw readTwice(name);
      isRead = true;
      const end = signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]);
      return numbered(name, reader, end, close);
    },
  };
}

/** Number of frames that are read ahead of the consumer. */
const AHEAD = 2;

async function* numbered(
  name: string,
  reader: VideoReader,
  signal: AbortSignal,
  close: () => Promise<void>,
): AsyncGenerator<VideoFrame, void, undefined> {
  const { width, height } = reader;
  const frames = reader.read(signal);
  const pending: Promise<IteratorResult<Grey, void>>[] = [];
  try {
    for (let index = 0; ; index++) {
      while (pending.length <= AHEAD) pending.push(quietly(frames.next()));
      signal.throwIfAborted();
      const { value: grey, done } = await pending.shift()!;
      signal.throwIfAborted();
      if (done && index === 0) throw noFrames('0 frames', { file: name });
      if (done) return;
      yield { index, width, height, grey };
    }
  } finally {
    // Pending reads are aborted first, because `return` of the generator waits for them.
    const closed = close();
    await frames.return().catch(() => {});
    await closed;
  }
}

/**
 * Prevents an unhandled rejection if the consumer stops before it awaits the promise. If the consumer awaits the
 * promise, the error is still thrown.
 */
function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function closedError(file: string): FormatError {
  return new FormatError('format/closed', 'The video was closed before it was read.', {
    remedy: 'Read before closing.',
    place: { file },
  });
}

function readTwice(file: string): UsageError {
  return new UsageError('usage/read-twice', 'The frames of a video can be read once.', {
    remedy: 'Open the video again.',
    place: { file },
  });
}
