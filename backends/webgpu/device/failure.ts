import { ArgumentError, DeviceLostError, OutOfMemoryError, QuadrilleError } from '../../../primitives/checks/errors.ts';
import type { Watchdog } from '../../common/watchdog.ts';

/** Records the failure that ends a backend, and rejects all pending promises with its reason. */
export interface Failure {
  readonly failed: boolean;
  /** Throws the reason of the failure if the backend has failed. */
  guard(): void;
  /** Marks the backend as failed and notifies the listeners. Only the first call has an effect. */
  fail(reason: unknown): void;
  /**
   * Calls `listener` when the backend fails, or at once if it has failed. Returns a function that removes the listener.
   */
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

/** The WebGPU error scopes to push around commands, in this order, so that the last one is innermost. */
export const errorScopes = ['validation', 'out-of-memory', 'internal'] as const;

/**
 * Pops the scopes of {@link errorScopes}, the innermost first. Returns, for each scope, a promise of the error that the
 * scope caught.
 */
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

/** Converts an error that an error scope caught to an error of the library. */
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

/** Milliseconds that a lost device gets to report its loss after a call has failed. */
const GRACE = 1000;

/**
 * Returns a function that explains why a call to the device failed. Usually the device is lost and reports the loss a
 * little later, so the function waits up to `GRACE` milliseconds for that report.
 */
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
