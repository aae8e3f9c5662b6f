import { OutOfMemoryError } from '../../../primitives/errors.ts';
import type { SharedBuffer } from '../memory/shared-memory.ts';
import type { Launch } from './launch.ts';
import {
  type Fusable,
  type FusionHost,
  followsInTiles,
  fuseTiles,
  type TiledLaunch,
  type Unused,
} from './tile-fusion.ts';

/** A command that is ready to go into the queue. */
export interface HeldCommand extends Fusable {
  /** The buffers that it uses. */
  readonly touched: ReadonlySet<SharedBuffer>;
  /** What is due once it stands in the queue. */
  readonly finish: () => void;
}

/** Commands that wait for others to run tile by tile with, in order; see {@link followsInTiles}. */
export interface HeldCommands {
  /** Whether none waits. */
  readonly idle: boolean;
  /** Adds a command, after the ones that it cannot run with have gone. All go at the end of this turn of the event loop. */
  add(command: HeldCommand): void;
  /** Sends them into the queue, before anything else goes there. */
  flush(): void;
  /** Keeps a released buffer that one of them uses until they stand in the queue; tells whether that is so. */
  keeps(buffer: SharedBuffer): boolean;
  /** Takes memory; where there is too little, released buffers that were kept are given up first. */
  withRoom<T>(take: () => T): T;
  /** Forgets them. */
  drop(): void;
}

interface HeldCommandsHost {
  run(launch: Launch): void;
  /** What fusing takes; its scratch memory is given back with the function. */
  fusion(): FusionHost & { readonly finish: () => void };
  free(buffer: SharedBuffer): void;
  /** Ends the backend: commands did not get into the queue. */
  fail(reason: unknown): void;
}

export function isTiled(launch: Launch): launch is TiledLaunch {
  return launch.tiles !== undefined;
}

/** One launch; where there is no memory for it, those that it would be made of. */
function fusedOrAlone(
  commands: readonly HeldCommand[],
  unused: readonly Unused[],
  host: FusionHost,
): readonly Launch[] {
  try {
    return [fuseTiles(commands, unused, host)];
  } catch (error) {
    if (error instanceof OutOfMemoryError) return commands.map(({ launch }) => launch);
    throw error;
  }
}

export function createHeldCommands({ run, fusion, free, fail }: HeldCommandsHost): HeldCommands {
  let commands: HeldCommand[] = [];
  let released: SharedBuffer[] = [];

  const flush = (): void => {
    const [ready, unused] = [commands, released];
    commands = [];
    released = [];
    try {
      if (ready.length > 1) runTogether(ready, unused);
      else if (ready.length === 1) run(ready[0]!.launch);
    } finally {
      for (const { finish } of ready) finish();
      for (const buffer of unused) free(buffer);
    }
  };
  const runTogether = (ready: readonly HeldCommand[], unused: readonly SharedBuffer[]): void => {
    const host = fusion();
    // What is still being read has to get to memory.
    const passing = unused.filter(({ reads }) => reads.size === 0);
    const memory = passing.map(({ address, words }) => ({ from: address, to: address + 4 * words }));
    try {
      for (const launch of fusedOrAlone(ready, memory, host)) run(launch);
    } finally {
      host.finish();
    }
  };
  const flushLate = (): void => {
    try {
      flush();
    } catch (error) {
      // Nobody waits for it here: whoever calls next is told.
      fail(error);
    }
  };

  return {
    get idle() {
      return commands.length === 0;
    },
    flush,
    add(command) {
      if (commands.length > 0 && !followsInTiles(commands, command)) flush();
      if (commands.length === 0) queueMicrotask(flushLate);
      commands.push(command);
    },
    keeps(buffer) {
      const used = commands.some(({ touched }) => touched.has(buffer));
      if (used) released.push(buffer);
      return used;
    },
    withRoom(take) {
      try {
        return take();
      } catch (error) {
        if (released.length === 0 || !(error instanceof OutOfMemoryError)) throw error;
        flush();
        return take();
      }
    },
    drop() {
      commands = [];
      released = [];
    },
  };
}
