import { ArgumentError } from '../../primitives/errors.ts';
import type { Memory, Part } from './memory.ts';
import type { Recorder } from './recorder.ts';
import type { Transfers } from './transfers.ts';
import { usage } from './usage.ts';

/** Measures how long the device works, by its own clock. */
export interface Timer {
  /** Milliseconds from the first to the end of the last of the commands, which run alone. */
  time(commands: () => void): Promise<number>;
  destroy(): void;
}

/** Two timestamps of 64 bits. */
const WORDS = 4;

export function createTimer(
  device: GPUDevice,
  features: ReadonlySet<string>,
  recorder: Recorder,
  transfers: Transfers,
  finish: () => Promise<void>,
): Timer {
  let stamps: { readonly set: GPUQuerySet; readonly part: Part } | undefined;

  const create = (): NonNullable<typeof stamps> => {
    if (!features.has('timestamp-query')) {
      throw new ArgumentError('device/no-timestamps', 'This device has no timestamps.', {
        remedy: 'Measure the time until sync() instead.',
      });
    }
    const gpu = device.createBuffer({ size: WORDS * 4, usage: usage.queryResolve | usage.copySource });
    const set = device.createQuerySet({ type: 'timestamp', count: 2 });
    return { set, part: { id: 0, gpu, bytes: WORDS * 4, lastUse: -1 } };
  };

  return {
    async time(commands) {
      await finish();
      stamps ??= create();
      const { set, part } = stamps;
      recorder.stamp(set, 0);
      commands();
      recorder.stamp(set, 1);
      recorder.resolve(set, part);
      const memory: Memory = { id: 0, words: WORDS, parts: [part], shift: 31 };
      const words = await transfers.read(memory, 0, WORDS);
      const [from, to] = new BigUint64Array(words.buffer, words.byteOffset, 2);
      return Number(to! - from!) / 1e6;
    },
    destroy() {
      stamps?.set.destroy();
      stamps?.part.gpu.destroy();
    },
  };
}
