import type { HostFrame } from '../../algorithms/cell-tracking/frame.ts';
import type { Note } from '../../algorithms/notes.ts';

/** A grey frame of a video. */
export interface VideoFrame extends HostFrame {
  /** Number of the frame, from 0. */
  readonly index: number;
  /** Grey values row after row from the top, of 8 or 16 bits. */
  readonly grey: Uint8Array | Uint16Array;
}

/** Containers that are read. */
export type VideoFormat = 'avi' | 'tiff' | 'png' | 'y4m';

/** What is taken of coloured pixels. */
export type VideoChannel = 'grey' | 'red' | 'green' | 'blue';

/** A video that is read frame by frame, as grey values. */
export interface Video {
  /** Name for messages: the path, or `standard input`. */
  readonly name: string;
  readonly format: VideoFormat;
  readonly width: number;
  readonly height: number;
  /** Bits of a grey value: 8 gives a `Uint8Array`, 16 a `Uint16Array`. */
  readonly bits: 8 | 16;
  /** As the file says; undefined where only the end tells, as in Y4M. */
  readonly frameCount: number | undefined;
  /** Frames a second where the file says. */
  readonly frameRate: number | undefined;
  /** µm a pixel where the file says: resolution of a TIFF, metadata of ImageJ or OME. */
  readonly pixelSize: number | undefined;
  /** What was noticed so far. Some things, such as frames that are repeated, are noticed while frames are read. */
  readonly notes: readonly Note[];
  /**
   * Frames in order from the first; each array is the caller's own. The file is closed after the last frame, after an error, and
   * where the loop is left early. Up to two frames are read ahead. Can be called once.
   *
   * @throws FormatError where a frame cannot be read, with its number; frames before it are given first. An aborted signal
   * ends the iteration with its reason.
   */
  frames(options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<VideoFrame>;
  /** Closes the file; a second call does nothing. */
  close(): Promise<void>;
}

/** A readable stream of Node, such as `process.stdin`; programs without Node's types have its type too. */
export interface VideoStream extends AsyncIterable<Uint8Array> {
  destroy(): unknown;
}

/** How to open a video. */
export interface VideoOptions {
  /** What is taken of coloured pixels; `grey` by default, which is Rec. 601's luma. */
  readonly channel?: VideoChannel | undefined;
  /** Ends the opening. */
  readonly signal?: AbortSignal | undefined;
}

/** Grey values of a frame. */
export type Grey = Uint8Array | Uint16Array;

/** What a reader of one format found in the head of a video, and how it goes on. */
export interface VideoReader extends Omit<Video, 'frames' | 'name'> {
  readonly notes: Note[];
  /** Grey values of all frames; `signal` ends what is waited for. */
  read(signal: AbortSignal): AsyncGenerator<Grey, void, undefined>;
}
