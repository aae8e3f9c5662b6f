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

/** A command that is ready to be queued. */
export interface HeldCommand extends Fusable {
  /** The buffers that it uses. */
  readonly touched: ReadonlySet<SharedBuffer>;
  /** Called once it is in the queue. */
  readonly finish: () => void;
}

/** Commands that wait for others to run with tile by tile, in order; see {@link followsInTiles}. */
export interface HeldCommands {
  /** Whether no command is waiting. */
  readonly idle: boolean;
  /**
   * Adds a command, after queueing those that it cannot run with. All are queued at the end of this turn of the event
   * loop.
   */
  add(command: HeldCommand): void;
  /** Queues the waiting commands; must be called before anything else is queued. */
  flush(): void;
  /** If a waiting command uses a released buffer, keeps it until the command is queued; returns whether that is so. */
  keeps(buffer: SharedBuffer): boolean;
  /** Allocates memory. If there is too little, first frees the released buffers that were kept. */
  withRoom<T>(take: () => T): T;
  /** Drops all waiting commands. */
  drop(): void;
}

interface HeldCommandsHost {
  run(launch: Launch): void;
  /** The host for one fusion; `finish` frees its scratch memory. */
  fusion(): FusionHost & { readonly finish: () => void };
  free(buffer: SharedBuffer): void;
  /** Fails the backend, because commands could not be queued. */
  fail(reason: unknown): void;
}

export function isTiled(launch: Launch): launch is TiledLaunch {
  return launch.tiles !== undefined;
}

/** A single fused launch; if there is too little memory for it, the separate launches. */
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
    // Data with pending reads must be written to memory.
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
      // Nobody waits for this; the next caller gets the error.
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
