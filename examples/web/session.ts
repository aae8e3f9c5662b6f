// A session computes one frame after another on the same backend, until the session is stopped.
import { type Context, type DeviceEntry, open } from '../../page.ts';
import { play, type StepTimes, type Told } from './frame.ts';
import type { Controls } from './scene.ts';

/** What the page shows about a frame. */
export interface Shown extends Told {
  readonly pixels: Uint32Array;
  /**
   * Milliseconds from the start of the frame until the host had read the number of components and the checksum;
   * undefined if the frame was computed step by step.
   */
  readonly computed: number | undefined;
  readonly steps: StepTimes | undefined;
}

export interface Session {
  readonly entry: DeviceEntry;
  /** Whether the session is paused. A paused session computes no frames. */
  paused: boolean;
  stop(): Promise<void>;
}

export interface SessionOptions {
  readonly entry: DeviceEntry;
  readonly paused: boolean;
  /** Returns the visitor's current settings. */
  readonly controls: () => Controls;
  readonly show: (frame: Shown) => void;
  readonly fail: (error: unknown) => void;
}

/** One in this many frames is computed step by step, to measure the times of the steps. */
const STEPS_EVERY = 20;

/** Opens the backend and starts to compute frames. The first frame is computed even if the session is paused. */
export async function startSession({ entry, paused, controls, show, fail }: SessionOptions): Promise<Session> {
  const context: Context = await open({ backend: entry.backend, adapter: entry.adapter });
  const player = play(context);
  let isStopped = false;
  const session: Session = {
    entry,
    paused,
    async stop() {
      isStopped = true;
      await running;
      await context.close();
    },
  };

  const next = async (number: number): Promise<Shown> => {
    if (number % STEPS_EVERY === STEPS_EVERY - 1) {
      const { frame, times } = await player.nextInSteps(controls());
      return { ...(await frame.told), pixels: await frame.pixels, computed: undefined, steps: times };
    }
    const start = performance.now();
    const { told, pixels } = player.next(controls());
    const timed = told.then((all) => ({ ...all, computed: performance.now() - start }));
    const [all, read] = await Promise.all([timed, pixels]);
    return { ...all, pixels: read, steps: undefined };
  };

  const run = async (): Promise<void> => {
    try {
      for (let number = 0; !isStopped; ) {
        if (!session.paused || number === 0) show(await next(number++));
        await new Promise(requestAnimationFrame);
      }
    } catch (error) {
      if (!isStopped) fail(error);
    }
  };
  const running = run();
  return session;
}
