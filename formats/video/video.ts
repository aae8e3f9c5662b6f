import type { HostFrame } from '../../algorithms/cell-tracking/frame.ts';
import type { Note } from '../../algorithms/notes.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';

/** A frame of a video, as grey values. */
export interface VideoFrame extends HostFrame {
  /** Index of the frame in the video, from 0. */
  readonly index: number;
  /** Grey values of 8 or 16 bits, row by row from the top. */
  readonly grey: Uint8Array | Uint16Array;
}

/** Supported formats of videos. */
export type VideoFormat = 'avi' | 'tiff' | 'png' | 'y4m';

/** The value to take from coloured pixels: their luma (`grey`) or one colour. */
export type VideoChannel = 'grey' | 'red' | 'green' | 'blue';

/** A video that is read frame by frame, as grey values. */
export interface Video {
  /** Name of the video in messages: its path, or `standard input`. */
  readonly name: string;
  readonly format: VideoFormat;
  readonly width: number;
  readonly height: number;
  /** Bits of a grey value. With 8, frames are `Uint8Array`s; with 16, `Uint16Array`s. */
  readonly bits: 8 | 16;
  /** Number of frames that the file states; undefined if it states none, as in Y4M. */
  readonly frameCount: number | undefined;
  /** Frames per second; undefined if the file does not state them. */
  readonly frameRate: number | undefined;
  /** Micrometres per pixel, from the metadata of ImageJ or OME or the resolution of a TIFF; undefined if unknown. */
  readonly pixelSize: number | undefined;
  /** Notes on the video. Some notes, such as the note on repeated frames, are added while frames are read. */
  readonly notes: readonly Note[];
  /**
   * Reads the frames in order. The caller owns the array of each frame. The file is closed after the last frame, after
   * an error, or when the caller leaves the loop early. Up to two frames are read ahead. This method can be called only
   * once.
   *
   * @throws FormatError if a frame cannot be read. The error contains the frame's index, and is thrown after all
   * previous frames have been delivered. After an abort, the iteration throws the signal's reason.
   */
  frames(options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<VideoFrame>;
  /** Closes the file. Has no effect if it is already closed. */
  close(): Promise<void>;
}

/** A readable Node stream, such as `process.stdin`. Declared here, so that programs need not install Node's types. */
export interface VideoStream extends AsyncIterable<Uint8Array> {
  destroy(): unknown;
}

/** Options for opening a video. */
export interface VideoOptions {
  /** The value to take from coloured pixels. Default `grey`, which is the luma of Rec. 601. */
  readonly channel?: VideoChannel | undefined;
  /** Aborts opening the video. */
  readonly signal?: AbortSignal | undefined;
}

/** Grey values of a frame. */
export type Grey = Uint8Array | Uint16Array;

/** What the reader of a format returns: the properties of the video, and a method to read its frames. */
export interface VideoReader extends Omit<Video, 'frames' | 'name'> {
  readonly notes: Note[];
  /** Reads the grey values of all frames in order. Aborting `signal` ends the wait for data. */
  read(signal: AbortSignal): AsyncGenerator<Grey, void, undefined>;
}
