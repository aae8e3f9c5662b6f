// One frame after the other on a context, all of it at once or step by step with the time of each.
import type { Column, Context } from '../../primitives/index.ts';
import {
  type Controls,
  densityOf,
  firstPoints,
  labelsOf,
  movePoints,
  type Points,
  pixelsOf,
  type Sums,
  summaryOf,
  sumsOf,
} from './scene.ts';

/** A frame on the host. */
export interface Frame {
  /** Four bytes a cell: red, green, blue, opacity. */
  readonly pixels: Uint32Array;
  readonly components: number;
  readonly checksum: number;
}

/** The steps whose times are told one by one. */
export const STEPS = ['move', 'density', 'components', 'colours', 'read'] as const;
export type StepTimes = { readonly [S in (typeof STEPS)[number]]: number };

/** A scene on its way. */
export interface Player {
  /** Computes the next frame and waits for it. */
  next(controls: Controls): Promise<Frame>;
  /** The same, and waits after every step; milliseconds. Waits make the whole longer. */
  nextInSteps(controls: Controls): Promise<{ readonly frame: Frame; readonly times: StepTimes }>;
}

type Result = {
  readonly points: Points;
  readonly pixels: Column<'u32'>;
  readonly summary: ReturnType<typeof summaryOf>;
};

export function play(context: Context): Player {
  let points = firstPoints(context);
  let number = 0;

  const finish = async ({ points: moved, pixels, summary }: Result): Promise<Frame> => {
    context.dispose(points);
    points = moved;
    const result = await context.read({ pixels, ...summary });
    context.dispose({ pixels, summary });
    return { pixels: result.pixels, components: result.components[0]!, checksum: result.checksum[0]! };
  };

  return {
    next(controls) {
      number++;
      return finish(
        context.scope(() => {
          const moved = movePoints(context, points, number, controls);
          const density = densityOf(context, moved);
          const labels = labelsOf(context, density, controls);
          const pixels = pixelsOf(context, density, labels, sumsOf(context, moved, labels), controls);
          return { points: moved, pixels, summary: summaryOf(context, density, labels) };
        }),
      );
    },
    async nextInSteps(controls) {
      number++;
      const times: Partial<Record<keyof StepTimes, number>> = {};
      const timed = async <T>(step: keyof StepTimes, run: () => T): Promise<Awaited<T>> => {
        const start = performance.now();
        const result = await run();
        if (step !== 'read') await context.sync();
        times[step] = performance.now() - start;
        return result;
      };
      const moved = await timed('move', () => movePoints(context, points, number, controls));
      const density = await timed('density', () => densityOf(context, moved));
      const labels = await timed('components', () => labelsOf(context, density, controls));
      const [sums, pixels, summary] = await timed('colours', (): [Sums, Column<'u32'>, Result['summary']] => {
        const sums = sumsOf(context, moved, labels);
        return [sums, pixelsOf(context, density, labels, sums, controls), summaryOf(context, density, labels)];
      });
      const frame = await timed('read', () => finish({ points: moved, pixels, summary }));
      context.dispose({ density, labels, sums });
      return { frame, times: times as StepTimes };
    },
  };
}
