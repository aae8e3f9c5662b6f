import { ArgumentError, DeviceLostError, OutOfMemoryError, QuadrilleError } from '../../../primitives/errors.ts';
import type { Watchdog } from '../../common/watchdog.ts';

/** Why a backend can do no more, told to everyone who waits. */
export interface Failure {
  readonly failed: boolean;
  /** Throws the reason once there is one. */
  guard(): void;
  /** Ends everything under way with a reason; only the first one counts. */
  fail(reason: unknown): void;
  /** Calls back when the backend fails, or at once where it has; returns a function that takes that back. */
  onFailure(listener: (reason: unknown) => void): () => void;
  /** A promise that settles as the work does, or rejects when the backend fails first. */
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

/** Errors of the device are caught in these scopes, the last one opened first. */
export const errorScopes = ['validation', 'out-of-memory', 'internal'] as const;

/** Closes the scopes of {@link errorScopes}: what the device found in each. */
export function closeErrorScopes(device: GPUDevice): Promise<QuadrilleError | undefined>[] {
  return [...errorScopes].reverse().map(async (scope) => {
    const error = await device.popErrorScope();
    return error === null ? undefined : deviceError(scope, error);
  });
}

/** Commands that the device refused because of a buffer that they read and that is not ours. */
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

/** An error that the device reported in a scope, in the library's words. */
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
      return new DeviceLostError('device/internal', `The device could not carry out a command: ${cause.message}`, {
        cause,
      });
  }
}

export function lostError({ reason, message }: GPUDeviceLostInfo): DeviceLostError {
  return new DeviceLostError('device/lost', `The device was lost (${reason}): ${message}`, {
    remedy: 'Open a new context; what was on the device is gone.',
  });
}

/** A device that was waited for in vain. */
export function hangError(limit: number): DeviceLostError {
  return new DeviceLostError('device/hang', `The device did not answer for ${limit} ms and is taken for lost.`, {
    remedy: 'Open a new context, work in smaller windows, or raise hangLimit.',
  });
}

/** Milliseconds in which a device that was lost says so, after it has refused something for that reason. */
const GRACE = 1000;

/** Finds out what was wrong when the device refused to answer: mostly it was lost, which it may say a little later. */
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
