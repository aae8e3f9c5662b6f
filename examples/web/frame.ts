// Computes frames on a context. A frame is computed either as a whole, or step by step to measure the time of each
// step.
import type { Column, Context } from '../../primitives/index.ts';
import {
  type Controls,
  densityOf,
  firstPoints,
  labelsOf,
  movePoints,
  type Points,
  pixelsOf,
  type Summary,
  summaryOf,
  sumsOf,
} from './scene.ts';

/** Numbers that the page shows about a frame. */
export interface Told {
  readonly components: number;
  /** A checksum over all bits of the densities and labels. */
  readonly checksum: number;
}

/** A frame that is being computed. Its promises resolve when the frame is finished. */
export interface Frame {
  readonly told: Promise<Told>;
  /** One word per cell with the bytes red, green, blue and opacity. */
  readonly pixels: Promise<Uint32Array>;
}

/** The steps of a frame. The page shows the time of each step. */
export const STEPS = ['move', 'density', 'components', 'colours', 'read'] as const;
type Step = (typeof STEPS)[number];
/** Milliseconds that each step took. */
export type StepTimes = { readonly [S in Step]: number };

/** Computes the frames of the scene, one after another, on request. */
export interface Player {
  /** Computes the next frame. */
  next(controls: Controls): Frame;
  /**
   * Computes the next frame and waits after every step, so that the steps can be timed. Because of the waits, the frame
   * takes longer than with `next`.
   */
  nextInSteps(controls: Controls): Promise<{ readonly frame: Frame; readonly times: StepTimes }>;
}

type Result = { readonly pixels: Column<'u32'>; readonly summary: Summary };

export function play(context: Context): Player {
  let points = firstPoints(context);
  let number = 0;

  const moveOn = (moved: Points): void => {
    context.dispose(points);
    points = moved;
    number++;
  };

  const read = ({ pixels, summary }: Result): Frame => {
    const told = context.read(summary).then(({ components: [components], checksum: [checksum] }) => ({
      components: components!,
      checksum: checksum!,
    }));
    const frame = { told, pixels: context.read(pixels) };
    context.dispose({ pixels, summary });
    return frame;
  };

  return {
    next(controls) {
      const { moved, ...result } = context.scope(() => {
        const moved = movePoints(context, points, number, controls);
        const density = densityOf(context, moved, controls);
        const labels = labelsOf(context, density);
        const pixels = pixelsOf(context, density, labels, sumsOf(context, moved, labels), controls);
        return { moved, pixels, summary: summaryOf(context, density, labels) };
      });
      moveOn(moved);
      return read(result);
    },

    async nextInSteps(controls) {
      const times: Partial<Record<Step, number>> = {};
      const timed = async <T>(step: Step, run: () => T): Promise<T> => {
        const start = performance.now();
        const result = run();
        await context.sync();
        times[step] = performance.now() - start;
        return result;
      };
      const moved = await timed('move', () => movePoints(context, points, number, controls));
      const density = await timed('density', () => densityOf(context, moved, controls));
      const labels = await timed('components', () => labelsOf(context, density));
      const result = await timed('colours', () =>
        context.scope(() => ({
          pixels: pixelsOf(context, density, labels, sumsOf(context, moved, labels), controls),
          summary: summaryOf(context, density, labels),
        })),
      );
      context.dispose({ ...density, labels });
      moveOn(moved);
      const start = performance.now();
      const frame = read(result);
      await Promise.all([frame.told, frame.pixels]);
      times.read = performance.now() - start;
      return { frame, times: times as StepTimes };
    },
  };
}
