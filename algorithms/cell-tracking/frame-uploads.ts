import type { Column, Context } from '../../primitives/index.ts';
import type { HostFrame } from './frame.ts';
import type { FrameSource } from './frame-source.ts';

/** A frame of a video that stays on the device until it is released. */
export interface HeldFrame {
  grey(): Column<'u32'>;
  release(): void;
}

/** Uploads frames. When a call returns, the caller may change the frame's array. */
export interface FrameUploads {
  /** Uploads and returns a frame, and also keeps the frame for a later {@link take} with the same index. */
  keep(frame: HostFrame, index: number): HeldFrame;
  /**
   * Returns the frame that was kept for `index`, if that frame has the same array of pixels as `frame`. Frames are
   * taken in order, so kept frames of earlier indices are released.
   */
  take(frame: HostFrame, index: number): HeldFrame | undefined;
  /** Uploads a frame at once, for one use. */
  now(frame: HostFrame): HeldFrame;
  /** Copies a frame on the host, and uploads it only when its pixels are first used. */
  ifWanted(frame: HostFrame): HeldFrame;
  dispose(): void;
}

/**
 * Maximum number of kept frames that have not been taken. A graph has fewer frames between detection, which keeps
 * frames, and tracking, which takes them.
 */
const MAX_KEPT = 8;

interface KeptFrame {
  /**
   * The frame's array of pixels. It identifies the frame, because a caller may pass another array with the same index.
   */
  readonly array: HostFrame['grey'];
  readonly frame: HeldFrame;
}

export function frameUploads(context: Context, source: FrameSource): FrameUploads {
  const kept = new Map<number, KeptFrame>();

  function giveUp(index: number): void {
    kept.get(index)?.frame.release();
    kept.delete(index);
  }

  function keep(frame: HostFrame, index: number): HeldFrame {
    const [first, second] = holdTwice(context, source.upload(frame));
    giveUp(index);
    kept.set(index, { array: frame.grey, frame: second });
    if (kept.size > MAX_KEPT) giveUp(kept.keys().next().value!);
    return first;
  }

  function take(frame: HostFrame, index: number): HeldFrame | undefined {
    const found = kept.get(index);
    const isTaken = found?.array === frame.grey;
    if (isTaken) kept.delete(index);
    for (const other of [...kept.keys()]) if (other <= index) giveUp(other);
    return isTaken ? found!.frame : undefined;
  }

  return {
    keep,
    take,
    now: (frame) => holdOnce(context, source.upload(frame)),
    ifWanted(frame) {
      const copy = { ...frame, grey: frame.grey.slice() };
      let held: HeldFrame | undefined;
      const grey = (): Column<'u32'> => {
        held ??= holdOnce(context, source.upload(copy));
        return held.grey();
      };
      return { grey, release: () => held?.release() };
    },
    dispose() {
      for (const index of [...kept.keys()]) giveUp(index);
    },
  };
}

function holdOnce(context: Context, grey: Column<'u32'>): HeldFrame {
  return { grey: () => grey, release: () => context.dispose(grey) };
}

/** Two handles of one column, which is disposed of when both are released. */
function holdTwice(context: Context, grey: Column<'u32'>): [HeldFrame, HeldFrame] {
  let holders = 2;
  const release = (): void => {
    if (--holders === 0) context.dispose(grey);
  };
  return [
    { grey: () => grey, release },
    { grey: () => grey, release },
  ];
}
