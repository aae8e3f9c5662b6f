// Computes the same frames on every available backend, to show that the results are the same.
import { type DeviceEntry, open } from '../../page.ts';
import { play, type Told } from './frame.ts';
import type { Controls } from './scene.ts';

/** Number of frames per backend. The results of the last frame are compared. */
export const COMPARED_FRAMES = 5;
export const COMPARED_CONTROLS: Controls = { threshold: 1.25, background: 'dark' };

export interface Compared extends Told {
  readonly entry: DeviceEntry;
  readonly milliseconds: number;
}

/**
 * Computes the first frames of the scene on one backend after another. For each backend, yields the time and results of
 * the last of these frames.
 */
export async function* compareBackends(entries: readonly DeviceEntry[]): AsyncGenerator<Compared> {
  for (const entry of entries) {
    await using context = await open({ backend: entry.backend, adapter: entry.adapter });
    const player = play(context);
    let milliseconds = 0;
    let told: Told | undefined;
    for (let frame = 0; frame < COMPARED_FRAMES; frame++) {
      const start = performance.now();
      const frame = player.next(COMPARED_CONTROLS);
      [told] = await Promise.all([frame.told, frame.pixels]);
      milliseconds = performance.now() - start;
    }
    yield { entry, milliseconds, ...told! };
  }
}
