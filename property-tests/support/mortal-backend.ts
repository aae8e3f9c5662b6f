import { randomInt } from 'node:crypto';
import type { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { createWorkersBackend } from '../../backends/workers/index.ts';
import { openBackendOn } from '../../open.ts';
import type { Platform } from '../../platform.ts';
import { DeviceLostError } from '../../primitives/checks/errors.ts';
import type { Backend, Limits } from '../../primitives/contract/backend.ts';
import { LOST, watchedCalls } from './faulty-backend.ts';

const { QUADRILLE_LOSSES } = process.env;
/** Whether the losses of a failed test are to be repeated. */
export const REPEATS_LOSSES: boolean = QUADRILLE_LOSSES !== undefined;
/** The seed of all losses. The name of the mortal backend, and so the name of every test on it, states the seed. */
export const LOSSES: number = REPEATS_LOSSES ? Number(QUADRILLE_LOSSES) : randomInt(2 ** 31);

/** Few bytes of device memory, so that some laws spill to the host. */
const MEMORY_BYTES = 2 ** 22;

/** A loss after so many calls: a thread is ended, which the backend notices later, or the call itself fails. */
interface Loss {
  readonly calls: number;
  readonly how: 'first thread' | 'second thread' | 'call';
}

/** A loss at one of the first calls, which are all that a small case makes, is as likely as one after hundreds. */
const arbitraryLoss: fc.Arbitrary<Loss> = fc.record({
  calls: fc.double({ min: 0, max: 12, noNaN: true }).map((exponent) => Math.floor(2 ** exponent)),
  how: fc.constantFrom('first thread' as const, 'second thread' as const, 'call' as const, 'call' as const),
});
/** The losses of all mortal backends, which come in this order, over and over. */
const losses: readonly Loss[] = fc.sample(arbitraryLoss, { seed: LOSSES, numRuns: 500 });

/** Functions that wait for a takeover that is under way, one for each open backend. */
const takeovers = new Set<() => Promise<void>>();
/** Where in `losses` the losses last began, and how often they have begun. */
const begun = { at: 0, times: 0 };
async function begin(at: number): Promise<void> {
  for (const takenOver of takeovers) await takenOver();
  begun.at = at;
  begun.times++;
}

/** Whether the tests that run now are those of {@link repeatLosses}. */
let repeating = false;
fc.installGlobalPlugin(() => ({
  decorateRun: (run) => (values) =>
    repeating ? begin(fc.hash(fc.stringify(values)) % losses.length).then(() => run(values)) : run(values),
}));

/**
 * Makes the losses in the tests of the enclosing `describe` repeatable. They begin again with every test and with every
 * case of a law, where the values of the case decide with which loss. Laws take `LOSSES` as their seed; those of
 * `test.prop` do where `declare` declares them. All laws must be asynchronous. When a backend notices that a thread has
 * ended depends on the machine, so a law may have to be repeated several times until it fails again.
 */
export function repeatLosses(declare: () => void = () => {}): void {
  const before = fc.readConfigureGlobal();
  beforeAll(() => {
    repeating = true;
    fc.configureGlobal({ ...before, seed: LOSSES });
  });
  fc.configureGlobal({ ...before, seed: LOSSES });
  declare();
  fc.configureGlobal(before);
  beforeEach(() => begin(0));
  afterAll(() => {
    repeating = false;
    fc.configureGlobal(before);
  });
}

/**
 * The backend that `open({ limits, failover: 'workers' })` builds. Its workers are lost again and again, as `losses`
 * say. Results must be those of a backend that is never lost. A standby lives at least until it has taken over, because
 * a loss before that ends the context.
 */
export async function openMortalBackend(limits: Partial<Limits> = {}): Promise<Backend> {
  /** Loses the current workers. Undefined once they were lost, until their standby has taken over. */
  let lose: ((how: Loss['how']) => void) | undefined;
  let loseLatest = (_: Loss['how']): void => {};
  let left = 0;
  let next = begun.at;
  let seen = begun.times;
  const loss = (): Loss => losses[next % losses.length]!;
  const arm = (): void => {
    lose = loseLatest;
    left = loss().calls;
  };
  const beforeCall = (): void => {
    if (seen !== begun.times) {
      seen = begun.times;
      next = begun.at;
      left = loss().calls;
    }
    if (lose === undefined || left-- > 0) return;
    const now = lose;
    const { how } = loss();
    lose = undefined;
    next++;
    now(how);
  };
  const platform: Platform = {
    gpu: async () => undefined,
    cores: async () => 2,
    async workers({ limits: given }) {
      const threads: Worker[] = [];
      const add = (thread: Worker): void => void threads.push(thread);
      process.on('worker', add);
      const backend = await createWorkersBackend({ workers: 2, inlineNanoseconds: 0, limits: given });
      process.off('worker', add);
      loseLatest = (how): void => {
        if (how === 'call') backend.abort(new DeviceLostError(LOST, 'Lost at a random call.'));
        else void threads[how === 'first thread' ? 0 : 1]!.terminate();
      };
      return watchedCalls(backend, beforeCall);
    },
  };
  const backend = await openBackendOn(platform, {
    backend: 'workers',
    limits: { memoryBytes: MEMORY_BYTES, ...limits },
    failover: 'workers',
    onFailover: arm,
  });
  arm();
  const takenOver = async (): Promise<void> => {
    while (lose === undefined) {
      await backend.sync();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  takeovers.add(takenOver);
  const { close } = backend;
  backend.close = () => {
    takeovers.delete(takenOver);
    return close();
  };
  return backend;
}
