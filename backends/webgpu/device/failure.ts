import { ArgumentError, DeviceLostError, OutOfMemoryError, QuadrilleError } from '../../../primitives/errors.ts';
import type { Watchdog } from '../../common/watchdog.ts';

/** The failure that ends a backend, passed on to everyone who waits. */
export interface Failure {
  readonly failed: boolean;
  /** Throws the reason if the backend has failed. */
  guard(): void;
  /** Fails everything pending with a reason; only the first call counts. */
  fail(reason: unknown): void;
  /** Calls back when the backend fails, or immediately if it has; returns a function that removes the listener. */
  onFailure(listener: (reason: unknown) => void): () => void;
  /** Settles like `work`, but rejects if the backend fails first. */
  guarded<T>(work: Promise<T>): Promise<T>;
}

export function createFailure(watchdog: Watchdog): Failure {
  const waiting = new Set<(reason: unknown) => void>();
  const listeners = new Set<(reason: unknown) => void>();
  let failed: { readonly reason: unknown } | undefined;
  return {
    get failed() {
      return failed !== undefined;
    },
    guard() {
      if (failed !== undefined) throw failed.reason;
    },
    fail(reason) {
      if (failed !== undefined) return;
      failed = { reason };
      for (const reject of waiting) {
        reject(reason);
        watchdog.end();
      }
      waiting.clear();
      for (const listener of listeners) listener(reason);
      listeners.clear();
    },
    onFailure(listener) {
      if (failed !== undefined) listener(failed.reason);
      else listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    guarded(work) {
      return new Promise((resolve, reject) => {
        if (failed !== undefined) reject(failed.reason);
        else {
          waiting.add(reject);
          watchdog.begin();
        }
        work.then(resolve, reject).finally(() => {
          if (waiting.delete(reject)) watchdog.end();
        });
      });
    },
  };
}

/** The error scopes that catch errors of the device; the last one is innermost. */
export const errorScopes = ['validation', 'out-of-memory', 'internal'] as const;

/** Pops the scopes of {@link errorScopes}; the result has the errors found in each. */
export function closeErrorScopes(device: GPUDevice): Promise<QuadrilleError | undefined>[] {
  return [...errorScopes].reverse().map(async (scope) => {
    const error = await device.popErrorScope();
    return error === null ? undefined : deviceError(scope, error);
  });
}

/** The error for commands that the device refused because of a borrowed buffer. */
export function refusedError(cause: QuadrilleError): ArgumentError {
  return new ArgumentError(
    'buffer/refused',
    `The device refused commands that read a borrowed buffer: ${cause.message}`,
    {
      remedy:
        "Borrow buffers of the context's own device, and neither destroy nor map them before their columns are disposed of.",
      cause,
    },
  );
}

/** An error of the device, found in a scope, as an error of the library. */
function deviceError(scope: (typeof errorScopes)[number], cause: GPUError): QuadrilleError {
  switch (scope) {
    case 'out-of-memory':
      return new OutOfMemoryError('memory/device', 'The device has no memory left.', {
        remedy: 'Lower limits.memoryBytes, free columns earlier, or work in smaller windows.',
        cause,
      });
    case 'validation':
      return new QuadrilleError('device/validation', `The device refused a command: ${cause.message}`, { cause });
    case 'internal':
      return new DeviceLostError('device/internal', `The device failed to run a command: ${cause.message}`, {
        cause,
      });
  }
}

export function lostError({ reason, message }: GPUDeviceLostInfo): DeviceLostError {
  return new DeviceLostError('device/lost', `The device was lost (${reason}): ${message}`, {
    remedy: 'Open a new context; the data on the device is lost.',
  });
}

/** The error for a device that does not answer. */
export function hangError(limit: number): DeviceLostError {
  return new DeviceLostError('device/hang', `The device did not answer for ${limit} ms and is considered lost.`, {
    remedy: 'Open a new context, work in smaller windows, or raise hangLimit.',
  });
}

/** Milliseconds in which a lost device should report the loss, after it has refused something because of it. */
const GRACE = 1000;

/** Finds the reason why a device refused to answer: usually it is lost, which it may report a little later. */
export function createExplanation(device: GPUDevice, failure: Failure): (cause: unknown) => Promise<unknown> {
  return async (cause) => {
    if (cause instanceof QuadrilleError) return cause;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([device.lost, new Promise((resolve) => (timer = setTimeout(resolve, GRACE)))]);
    clearTimeout(timer);
    try {
      failure.guard();
    } catch (reason) {
      return reason;
    }
    return new DeviceLostError('device/internal', 'The device did not answer.', { cause });
  };
}
