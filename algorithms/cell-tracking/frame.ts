import { aColumn } from '../../primitives/checks/argument-kinds.ts';
import { anInstance, aRecord, aWhole, type Kind } from '../../primitives/checks/kinds.ts';
import { gridText } from '../../primitives/columns/grid.ts';
import { capacityOf } from '../../primitives/columns/length.ts';
import { requireContext } from '../../primitives/context/context-option.ts';
import {
  ArgumentError,
  type ArrayParameter,
  array,
  type Column,
  type ColumnOwner,
  f32,
  u32,
} from '../../primitives/index.ts';

/**
 * A grey frame on a device, row after row from the top. Grey values may have any scale, such as 8 bits, 16 bits or
 * fractions.
 */
export interface Frame {
  readonly width: number;
  readonly height: number;
  /** Grey values, possibly packed: `context.column` packs a `Uint8Array` or a `Uint16Array`. */
  readonly grey: Column<'u32'> | Column<'f32'>;
}

/** A grey frame in host memory, row after row from the top. */
export interface HostFrame {
  readonly width: number;
  readonly height: number;
  readonly grey: Uint8Array | Uint16Array | Float32Array;
}

/** Maximum width and height of a frame. Coordinates are f32, and pixels are counted in u32. */
const MAX_SIDE = 2 ** 16 - 1;

export const aHostFrame: Kind = aRecord<HostFrame>({
  width: aWhole(1, MAX_SIDE, 'frame/size'),
  height: aWhole(1, MAX_SIDE, 'frame/size'),
  grey: anInstance(Uint8Array, Uint16Array, Float32Array),
});

export const aFrame: Kind = aRecord<Frame>({
  width: aWhole(1, MAX_SIDE, 'frame/size'),
  height: aWhole(1, MAX_SIDE, 'frame/size'),
  grey: aColumn('u32', 'f32'),
});

/**
 * Returns the context of a frame's pixels. Throws unless the number of pixels equals width times height. If the pixels
 * are an input of a prepared pipeline, the capacity of the input counts instead; pixels missing in a call are 0.
 */
export function contextOfFrame(call: string, { width, height, grey }: Frame): ColumnOwner {
  requirePixels(call, width, height, capacityOf(grey.length));
  const { grid } = grey;
  if (grid !== undefined && (grid.columns !== width || grid.rows !== height)) {
    throw new ArgumentError('frame/size', `${call} was given a frame whose pixels have another shape.`, {
      expected: `${height} rows of ${width} pixels`,
      got: gridText(grid),
    });
  }
  return requireContext([grey], call);
}

/** Throws unless the number of pixels of a frame in host memory equals width times height. */
export function requireHostFrame(call: string, { width, height, grey }: HostFrame): void {
  requirePixels(call, width, height, grey.length);
}

function requirePixels(call: string, width: number, height: number, pixels: number): void {
  if (pixels === width * height) return;
  throw new ArgumentError('frame/size', `${call} was given a frame whose number of pixels is not width × height.`, {
    expected: `${width * height} grey values, ${width} × ${height}`,
    got: pixels,
  });
}

/**
 * Makes two variants of a functor, for frames with grey values in u32 and in f32. In both, `make` gets grey values as
 * f32.
 */
export function ofGrey<F>(make: (grey: ArrayParameter<'f32'>) => F): Record<'u32' | 'f32', F> {
  return { u32: make(array(u32) as never), f32: make(array(f32)) };
}

/** Throws for a frame whose size differs from that of an earlier frame or the background. */
export function requireSameSize(call: string, { width, height }: HostFrame, before: HostFrame): void {
  if (width === before.width && height === before.height) return;
  throw new ArgumentError('frame/size', `${call} was given frames of different sizes.`, {
    expected: `${before.width} × ${before.height} pixels, as before`,
    got: `${width} × ${height}`,
    remedy: 'Crop or scale the frames to one size.',
  });
}

/** Throws for a frame whose depth differs from that of an earlier frame. */
export function requireSameDepth(call: string, { grey }: HostFrame, before: HostFrame): void {
  if (grey.constructor === before.grey.constructor) return;
  throw new ArgumentError('frame/depth', `${call} was given frames of different depths.`, {
    expected: `grey values as ${before.grey.constructor.name}, as before`,
    got: grey.constructor.name,
  });
}
