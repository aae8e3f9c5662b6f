import type { Backend } from '../../primitives/contract/backend.ts';
import { DeviceLostError } from '../../primitives/errors.ts';

/** The backend calls of a context, at each of which a fault can be injected. */
const CALLS = [
  'allocate',
  'write',
  'upload',
  'read',
  'sync',
  'forEach',
  'walk',
  'reduce',
  'scan',
  'sort',
  'histogram',
] as const;

/** A backend that injects a fault before one of its calls, counted from 1. */
export function interrupted(backend: Backend, at: number, fault: (backend: Backend) => void): Backend {
  let calls = 0;
  const counted = CALLS.map((name) => {
    const call = backend[name] as (...args: unknown[]) => unknown;
    return [
      name,
      (...args: unknown[]) => {
        if (++calls === at) fault(backend);
        return call(...args);
      },
    ];
  });
  // The counters remain those of the original backend.
  return { ...backend, ...Object.fromEntries(counted) } as Backend;
}

/** The error code of device losses that tests simulate. */
export const LOST = 'device/test';

/** A backend that is lost before one of its calls. That call and all later ones throw, and pending promises reject. */
export function lostBefore(backend: Backend, call: number): Backend {
  return interrupted(backend, call, ({ abort }) => abort(new DeviceLostError(LOST, `Lost before call ${call}.`)));
}

/**
 * A backend that delays each read by a different number of event loop turns, so that reads complete in any order. A
 * read returns the data of the time at which it was issued. Reads that are pending at an abort reject.
 */
export function answeringLate(backend: Backend, turns: readonly number[]): Backend {
  let reads = 0;
  let aborted: { readonly reason: unknown } | undefined;
  return {
    ...backend,
    async read(buffer, word, words) {
      const found = await backend.read(buffer, word, words);
      for (let left = turns[reads++ % turns.length]!; left > 0; left--) {
        await new Promise((resolve) => setImmediate(resolve));
        if (aborted !== undefined) throw aborted.reason;
      }
      return found;
    },
    abort(reason) {
      aborted ??= { reason };
      backend.abort(reason);
    },
  };
}
