import { QuadrilleError } from '../primitives/errors.ts';

/** Exit codes by signal: 128 plus the signal's number, as shells have it. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;

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

/** Listens for Ctrl-C while a command runs. */
export interface InterruptListener extends Disposable {
  /** Aborted, with an {@link Interrupted} for reason, by the first signal. */
  readonly signal: AbortSignal;
  /** Adds something to do at once before a second signal ends the process. */
  beforeExit(cleanUp: () => void): void;
}

/** Turns the first SIGINT or SIGTERM into an abort, and lets the second end the process at once. */
export function listenForInterrupts(): InterruptListener {
  const controller = new AbortController();
  const cleanUps: (() => void)[] = [];
  const handle = (name: NodeJS.Signals): void => {
    if (!controller.signal.aborted) {
      controller.abort(new Interrupted(name as keyof typeof SIGNALS));
      return;
    }
    for (const cleanUp of cleanUps) cleanUp();
    // process.exit would wait for a read that hangs; the signal's own action does not.
    process.removeAllListeners(name);
    process.kill(process.pid, name);
  };
  const names = Object.keys(SIGNALS) as NodeJS.Signals[];
  for (const name of names) process.on(name, handle);
  return {
    signal: controller.signal,
    beforeExit: (cleanUp) => cleanUps.push(cleanUp),
    [Symbol.dispose]: () => {
      for (const name of names) process.off(name, handle);
    },
  };
}
