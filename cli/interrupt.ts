import { closeSync, constants, openSync, statSync } from 'node:fs';
import { QuadrilleError } from '../primitives/checks/errors.ts';

/** Exit code for each signal. As in shells, the exit code is 128 plus the number of the signal. */
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** The error of a run that was interrupted by a signal. It is the reason of the run's `AbortSignal`. */
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

  /** Returns a copy of this error whose message says that the output on stdout is incomplete. */
  withinOutput(): Interrupted {
    return this.with('the output on stdout is incomplete, and no file was written');
  }

  /** Returns a copy of this error whose message says with `outcome` what became of the results. */
  with(outcome: string): Interrupted {
    return new Interrupted(this.#signal, outcome);
  }
}

/** Handles SIGINT, SIGTERM and SIGHUP while a command runs. */
export interface InterruptListener extends Disposable {
  /** Aborted by the first signal that the process receives. The reason is an {@link Interrupted}. */
  readonly signal: AbortSignal;
  /**
   * Registers a function that is called just before the process ends because of a second signal or {@link
   * InterruptListener.endNow}.
   */
  beforeExit(cleanUp: () => void): void;
  /**
   * Ends the process immediately, even if a file operation is blocked. The exit code is the code of the first signal
   * that the process received.
   */
  endNow(): void;
}

/**
 * Listens for SIGINT, SIGTERM and SIGHUP. The first of these signals aborts the run, and the second one ends the
 * process immediately. `words` are the arguments of the command line, which may include paths of named pipes. Opening a
 * named pipe can block, so the first signal also unblocks threads that are opening one of these pipes.
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
    // This function is called every 100 ms, because the command may open the same pipe again.
    const letAllGo = (): void => words.forEach(letGo);
    letAllGo();
    lettingGo = setInterval(letAllGo, 100);
  };
  const end = (name: NodeJS.Signals): void => {
    for (const cleanUp of cleanUps) cleanUp();
    // `process.exit` would wait for a blocked read. The default action of the signal ends the process at once.
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
 * Unblocks a thread that is opening a named pipe for reading. Opening for reading blocks until the pipe has a writer,
 * so the process could not end. This function opens the pipe for writing and closes it, so that the reader sees an
 * empty file.
 */
function letGo(path: string): void {
  try {
    if (statSync(path).isFIFO()) closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
  } catch {
    // Ignored: the path is not a file, or no reader is waiting.
  }
}
