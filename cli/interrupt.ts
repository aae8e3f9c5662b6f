import { closeSync, constants, openSync, statSync } from 'node:fs';
import { QuadrilleError } from '../primitives/errors.ts';

/** Exit codes by signal: 128 plus the signal's number, as shells have it. */
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Why a run was aborted: a signal that the process received. */
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

  /** The same, of a run that has begun to write to stdout. */
  withinOutput(): Interrupted {
    return this.with('the output on stdout is incomplete, and no file was written');
  }

  /** The same, of a run that ended otherwise than with nothing. */
  with(outcome: string): Interrupted {
    return new Interrupted(this.#signal, outcome);
  }
}

/** Listens for Ctrl-C and its kin while a command runs. */
export interface InterruptListener extends Disposable {
  /** Aborted, with an {@link Interrupted} for reason, by the first signal. */
  readonly signal: AbortSignal;
  /** Adds something to do at once before a second signal, or {@link InterruptListener.endNow}, ends the process. */
  beforeExit(cleanUp: () => void): void;
  /** Ends the process by the signal that came, whatever still blocks: shells see the signal's exit code. */
  endNow(): void;
}

/**
 * Turns the first SIGINT, SIGTERM or SIGHUP into an abort, and lets the second end the process at once. `words` are those
 * of the command line: a named pipe among them may be waiting to be opened, and is let go at the first signal.
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
    // A reader may open its file once more.
    const letAllGo = (): void => words.forEach(letGo);
    letAllGo();
    lettingGo = setInterval(letAllGo, 100);
  };
  const end = (name: NodeJS.Signals): void => {
    for (const cleanUp of cleanUps) cleanUp();
    // process.exit would wait for a read that hangs; the signal's own action does not.
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
 * Ends the wait of whoever opens a named pipe that nobody writes to: it blocks a thread, and with it the end of the
 * process. A writer that comes and goes lets the reader see an empty file.
 */
function letGo(path: string): void {
  try {
    if (statSync(path).isFIFO()) closeSync(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
  } catch {
    // It is no file, or nobody waits for it.
  }
}
