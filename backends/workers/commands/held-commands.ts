import { OutOfMemoryError } from '../../../primitives/checks/errors.ts';
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
  /** The buffers that the command reads or writes. */
  readonly touched: ReadonlySet<SharedBuffer>;
  /** Called once the command is in the queue. Frees the command's scratch memory. */
  readonly finish: () => void;
}

/** Commands that wait to be fused: consecutive commands that may run together tile by tile ({@link followsInTiles}). */
export interface HeldCommands {
  /** Whether no command is waiting. */
  readonly idle: boolean;
  /**
   * Adds a command. If it cannot be fused with the waiting commands, the waiting commands are queued first. All waiting
   * commands are queued at the end of the current turn of the event loop.
   */
  add(command: HeldCommand): void;
  /** Queues the waiting commands. Must be called before any other command is queued, to keep the order of commands. */
  flush(): void;
  /**
   * If a waiting command uses a released buffer, keeps the buffer until the command is queued. Returns whether the
   * buffer is kept; if not, the caller must free the buffer.
   */
  keeps(buffer: SharedBuffer): boolean;
  /**
   * Allocates memory with `take`. If there is too little free memory, first queues the waiting commands and frees the
   * kept buffers.
   */
  withRoom<T>(take: () => T): T;
  /** Drops all waiting commands. */
  drop(): void;
}

interface HeldCommandsHost {
  run(launch: Launch): void;
  /** Returns the services that one fusion needs. Their function `finish` frees the scratch memory of the fusion. */
  fusion(): FusionHost & { readonly finish: () => void };
  free(buffer: SharedBuffer): void;
  /** Fails the backend with the reason why the waiting commands could not be queued. */
  fail(reason: unknown): void;
}

export function isTiled(launch: Launch): launch is TiledLaunch {
  return launch.tiles !== undefined;
}

/**
 * Fuses all commands into one launch. If there is too little scratch memory for fusing, returns one launch per command.
 */
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
    // A released buffer without pending reads may only pass data from one fused command to the next. Its contents then
    // need not be written to memory.
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
      // No caller is on the stack to receive the error. The next call to the backend throws it.
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
