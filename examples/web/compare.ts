// Runs the same frames on every available backend, and returns the results of each.
import { type DeviceEntry, open } from '../../page.ts';
import { play, type Told } from './frame.ts';
import type { Controls } from './scene.ts';

/** Number of frames to compute. The last one is compared. */
export const COMPARED_FRAMES = 5;
export const COMPARED_CONTROLS: Controls = { threshold: 1.25, background: 'dark' };

export interface Compared extends Told {
  readonly entry: DeviceEntry;
  readonly milliseconds: number;
}

/** One backend after the other, each from the first frame on. */
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
