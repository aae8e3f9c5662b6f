import type { HostFrame } from '../../algorithms/cell-tracking/frame.ts';
import type { Note } from '../../algorithms/notes.ts';

/** A grey frame of a video. */
export interface VideoFrame extends HostFrame {
  /** Index of the frame, from 0. */
  readonly index: number;
  /** Grey values row after row from the top, of 8 or 16 bits. */
  readonly grey: Uint8Array | Uint16Array;
}

/** Supported containers. */
export type VideoFormat = 'avi' | 'tiff' | 'png' | 'y4m';

/** The channel to read from coloured pixels. */
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
  /** Stated by the file; undefined if it is only known at the end, as in Y4M. */
  readonly frameCount: number | undefined;
  /** Frames per second, if the file states it. */
  readonly frameRate: number | undefined;
  /** Micrometres per pixel, if the file states it: resolution of a TIFF, metadata of ImageJ or OME. */
  readonly pixelSize: number | undefined;
  /** Notes so far. Some, such as repeated frames, are found while frames are read. */
  readonly notes: readonly Note[];
  /**
   * Frames in order from the first. The caller owns each array. The file is closed after the last frame, after an
   * error, and if the loop is left early. Up to two frames are read ahead. Can be called only once.
   *
   * @throws FormatError if a frame cannot be read, with its index; earlier frames are delivered first. An aborted
   * signal ends the iteration with its reason.
   */
  frames(options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<VideoFrame>;
  /** Closes the file; a second call does nothing. */
  close(): Promise<void>;
}

/** A readable Node stream, such as `process.stdin`. The type is declared here for programs without Node's types. */
export interface VideoStream extends AsyncIterable<Uint8Array> {
  destroy(): unknown;
}

/** Options for opening a video. */
export interface VideoOptions {
  /** The channel to read from coloured pixels. Default `grey`, which is Rec. 601's luma. */
  readonly channel?: VideoChannel | undefined;
  /** Aborts the opening. */
  readonly signal?: AbortSignal | undefined;
}

/** Grey values of a frame. */
export type Grey = Uint8Array | Uint16Array;

/** The header of a video as found by the reader of its format, and how to read its frames. */
export interface VideoReader extends Omit<Video, 'frames' | 'name'> {
  readonly notes: Note[];
  /** Grey values of all frames. `signal` aborts waiting. */
  read(signal: AbortSignal): AsyncGenerator<Grey, void, undefined>;
}
