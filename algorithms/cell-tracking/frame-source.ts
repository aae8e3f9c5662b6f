import {
  array,
  type Column,
  type Context,
  f32,
  fn,
  input,
  map,
  sequence,
  type TableInput,
  u32,
} from '../../primitives/index.ts';
import { type Frame, type HostFrame, ofGrey } from './frame.ts';

/** Uploads frames of one size and depth for a prepared pipeline. */
export interface FrameSource {
  readonly input: TableInput<typeof u32>;
  /** Uploads a frame as a column for one call of the pipeline. */
  upload(frame: HostFrame): Column<'u32'>;
  /** Returns the frame that the algorithms get: the grey values, minus the background if there is a background. */
  frameOf(grey: Column<'u32'>): Frame;
}

/** A source of frames with the size and depth of `like`. The caller still owns the background. */
export function frameSource(context: Context, like: HostFrame, background: Column | undefined): FrameSource {
  const { width, height } = like;
  return {
    input: inputOf(like),
    upload: ({ grey }) => context.column(grey as Uint8Array<ArrayBuffer>),
    frameOf: (grey) => ({ width, height, grey: background === undefined ? grey : movingPart(grey, background) }),
  };
}

function inputOf({ width, height, grey }: HostFrame): TableInput<typeof u32> {
  // The declared return type covers only u32 pixels, so the input for f32 pixels is cast.
  if (grey instanceof Float32Array) return input(f32, width * height) as never;
  return input(u32, width * height, { storage: grey instanceof Uint8Array ? 'u8' : 'u16' });
}

/** A view of the difference of a frame and the background. The difference shows only what moves. */
function movingPart(grey: Column<'u32'>, background: Column): Column<'f32'> {
  const given = { cell: sequence(background.capacity), background: background as Column<'f32'> };
  return map(movingOf[grey.type], { ...given, grey: grey as Column as Column<'f32'> });
}

const movingOf = ofGrey((grey) =>
  fn('movingPart', { cell: u32, grey, background: array(f32) }, f32, ({ cell, grey, background }) =>
    f32(grey.at(cell)).sub(background.at(cell)),
  ),
);
