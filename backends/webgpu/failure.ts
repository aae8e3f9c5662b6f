import { DeviceLostError, OutOfMemoryError, QuadrilleError } from '../../primitives/errors.ts';

/** Why a backend can do no more, told to everyone who waits. */
export interface Failure {
  /** Throws the reason once there is one. */
  guard(): void;
  /** Ends everything under way with a reason; only the first one counts. */
  fail(reason: unknown): void;
  /** A promise that settles as the work does, or rejects when the backend fails first. */
  guarded<T>(work: Promise<T>): Promise<T>;
}

export function createFailure(): Failure {
  const waiting = new Set<(reason: unknown) => void>();
  let failed: { readonly reason: unknown } | undefined;
  return {
    guard() {
      if (failed !== undefined) throw failed.reason;
    },
    fail(reason) {
      if (failed !== undefined) return;
      failed = { reason };
      for (const reject of waiting) reject(reason);
      waiting.clear();
    },
    guarded(work) {
      return new Promise((resolve, reject) => {
        if (failed !== undefined) reject(failed.reason);
        waiting.add(reject);
        work.then(resolve, reject).finally(() => waiting.delete(reject));
      });
    },
  };
}

/** Errors of the device are caught in these scopes, the last one opened first. */
export const errorScopes = ['validation', 'out-of-memory', 'internal'] as const;

/** An error that the device reported in a scope, in the library's words. */
export function deviceError(scope: (typeof errorScopes)[number], cause: GPUError): QuadrilleError {
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
