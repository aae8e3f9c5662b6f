import { ArgumentError } from '../../../primitives/checks/errors.ts';
import type { CommandTime } from '../launches/command-time.ts';
import type { DispatchRecorder } from '../launches/recorder.ts';
import type { Memory } from '../memory/memory.ts';
import type { BufferPart } from '../memory/part.ts';
import type { Transfers } from '../transfers/transfers.ts';
import { usage } from './usage.ts';

/** Measures the time that commands take on the device, by timestamp queries. */
export interface Timer {
  /** Runs groups of commands without pauses between the groups. Resolves to the milliseconds that each group took. */
  time(groups: readonly (() => void)[]): Promise<number[]>;
  /**
   * Runs commands one after another, without overlap. Resolves to the milliseconds that each command took, in order.
   */
  profile(commands: () => void): Promise<CommandTime[]>;
  /** Whether commands are being profiled. */
  readonly isProfiling: boolean;
  /**
   * While profiling, writes a timestamp at the end of a command. The function `command` returns the text that describes
   * the command.
   */
  mark(command: () => string): void;
  destroy(): void;
}

/** Maximum number of timestamps in a query set, as WebGPU defines. */
const MAX_STAMPS = 4096;
/** Number of words of a timestamp. */
const WORDS = 2;

/** The commands that are profiled, each with the number of its first timestamp and of the one after its last. */
interface Marks {
  readonly set: GPUQuerySet;
  readonly commands: { readonly command: string; readonly first: number; readonly end: number }[];
  /** Number of timestamps so far, besides the one at the start. */
  stamps: number;
  /** Whether the current command has launched something. */
  hasLaunched: boolean;
}

interface Stamps {
  readonly set: GPUQuerySet;
  readonly part: BufferPart;
}

export function createTimer(
  device: GPUDevice,
  features: ReadonlySet<string>,
  recorder: DispatchRecorder,
  transfers: Transfers,
  finish: () => Promise<void>,
): Timer {
  const known = new Map<number, Stamps>();
  let marks: Marks | undefined;

  const stampsFor = (count: number): Stamps => {
    const usable = known.get(count);
    if (usable !== undefined && usable.part.spoiled === undefined) return usable;
    if (usable !== undefined) destroy(usable);
    const stamps = create(count);
    known.set(count, stamps);
    return stamps;
  };

  const create = (count: number): Stamps => {
    if (!features.has('timestamp-query')) {
      throw new ArgumentError('device/no-timestamps', 'This device does not support timestamps.', {
        remedy: 'Measure the time until sync() instead.',
      });
    }
    const bytes = count * WORDS * 4;
    const uses = usage.queryResolve | usage.copySource;
    const gpu = recorder.watched(() => device.createBuffer({ size: bytes, usage: uses }));
    const part: BufferPart = { id: 0, gpu, bytes, lastUse: -1 };
    recorder.made(part);
    return { set: recorder.watched(() => device.createQuerySet({ type: 'timestamp', count })), part };
  };

  const destroy = ({ set, part }: Stamps): void => {
    set.destroy();
    part.gpu.destroy();
  };

  /** Reads the first `count` timestamps of a query set, in nanoseconds. */
  const read = async ({ set, part }: Stamps, count: number): Promise<BigUint64Array> => {
    recorder.resolve(set, part);
    const memory: Memory = { id: 0, words: part.bytes / 4, parts: [part], shift: 31 };
    const words = await transfers.read(memory, 0, count * WORDS);
    return new BigUint64Array(words.buffer, words.byteOffset, count);
  };

  const measure = async (max: number, record: (set: GPUQuerySet) => number): Promise<number[]> => {
    if (max > MAX_STAMPS) throw new RangeError(`more than ${MAX_STAMPS - 1} times in one call`);
    await finish();
    const stamps = stampsFor(max);
    recorder.stamp(stamps.set, 0);
    const count = recorder.together(() => record(stamps.set));
    const times = await read(stamps, count + 1);
    return Array.from(times.subarray(1), (time, i) => Number(time - times[i]!) / 1e6);
  };

  const stampNext = (made: Marks): void => {
    if (made.stamps < MAX_STAMPS - 1) recorder.stamp(made.set, ++made.stamps);
  };

  return {
    time: (groups) =>
      measure(groups.length + 1, (set) => {
        groups.forEach((commands, i) => {
          commands();
          recorder.stamp(set, i + 1);
        });
        return groups.length;
      }),
    async profile(record) {
      const commands: Marks['commands'] = [];
      const times = await measure(MAX_STAMPS, (set) => {
        const made: Marks = { set, commands, stamps: 0, hasLaunched: false };
        marks = made;
        recorder.watch(() => {
          if (made.hasLaunched) stampNext(made);
          made.hasLaunched = true;
        });
        try {
          record();
        } finally {
          recorder.watch(undefined);
          marks = undefined;
        }
        return made.stamps;
      });
      return commands.map(({ command, first, end }) => {
        const launches = times.slice(first, end);
        return { command, milliseconds: launches.reduce((sum, each) => sum + each, 0), launches };
      });
    },
    get isProfiling() {
      return marks !== undefined;
    },
    mark(command) {
      if (marks === undefined || marks.stamps >= MAX_STAMPS - 1) return;
      const first = marks.commands.at(-1)?.end ?? 0;
      stampNext(marks);
      marks.commands.push({ command: command(), first, end: marks.stamps });
      marks.hasLaunched = false;
    },
    destroy() {
      for (const stamps of known.values()) destroy(stamps);
    },
  };
}
