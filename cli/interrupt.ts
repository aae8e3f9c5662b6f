import { closeSync, constants, openSync, statSync } from 'node:fs';
import { QuadrilleError } from '../primitives/errors.ts';

/** Exit codes by signal: 128 plus the number of the signal, as in shells. */
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** The reason of an aborted run: the process received a signal. */
export class Interrupted extends QuadrilleError {
  static {
    Interrupted.prototype.name = 'Interrupted';
  }

  readonly exitCode: number;
  readonly #signal: keyof typeof SIGNALS;

  constructor(signal: keyof typeof SIGNALS, outcome = 'nothing was written') {
    super('run/interrupted', `Stopped by ${signal}; ${outcome}.`);
    this.#signal = signal;
    this.exitCode = SIGNALS[signal];
  }

  /** The same reason, for a run that has begun to write to stdout. */
  withinOutput(): Interrupted {
    return this.with('the output on stdout is incomplete, and no file was written');
  }

  /** The same reason, with another outcome. */
  with(outcome: string): Interrupted {
    return new Interrupted(this.#signal, outcome);
  }
}

/** Listens for SIGINT, SIGTERM and SIGHUP while a command runs. */
export interface InterruptListener extends Disposable {
  /** The first signal aborts it, with an {@link Interrupted} as the reason. */
  readonly signal: AbortSignal;
  /** Registers a function that runs right before a second signal, or {@link InterruptListener.endNow}, ends the process. */
  beforeExit(cleanUp: () => void): void;
  /** Ends the process by the received signal even if something blocks. Shells see the exit code of the signal. */
  endNow(): void;
}

/**
 * Turns the first SIGINT, SIGTERM or SIGHUP into an abort; the second ends the process immediately. `words` are the
 * words of the command line: if one is a named pipe that blocks while it is opened, the first signal releases it.
 */
export function listenForInterrupts(words: readonly string[] = []): InterruptListener {
  const controller = new AbortController();
  const cleanUps: (() => void)[] = [];
  const handle = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      end(name);
      return;
    }
    came = name;
    controller.abort(new Interrupted(name as keyof typeof SIGNALS));
    // A reader may open its file again.
    const letAllGo = (): void => words.forEach(letGo);
    letAllGo();
    lettingGo = setInterval(letAllGo, 100);
  };
  const end = (name: NodeJS.Signals): void => {
    for (const cleanUp of cleanUps) cleanUp();
    // process.exit would wait for a read that hangs; the default action of the signal does not.
    process.removeAllListeners(name);
    process.kill(process.pid, name);
  };
  let came: NodeJS.Signals = 'SIGTERM';
  let lettingGo: ReturnType<typeof setInterval> | undefined;
  const names = Object.keys(SIGNALS) as NodeJS.Signals[];
  for (const name of names) process.on(name, handle);
  return {
    signal: controller.signal,
    beforeExit: (cleanUp) => cleanUps.push(cleanUp),
    endNow: () => end(came),
    [Symbol.dispose]: () => {
      clearInterval(lettingGo);
      for (const name of names) process.off(name, handle);
    },
  };
}

/**
 * Releases a reader that blocks while it opens a named pipe without a writer. It would block a thread, and so the end of
 * the process. A writer that opens and closes the pipe makes the reader see an empty file.
 */
function letGo(path: string): void {
  try {
    if (statSync(path).isFIFO()) closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
  } catch {
    // It is not a file, or no reader waits.
  }
}
