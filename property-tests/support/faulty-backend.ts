import type { Backend } from '../../primitives/contract/backend.ts';
import { DeviceLostError } from '../../primitives/errors.ts';

/** What counts as a point in time: every call that a context makes of its backend. */
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

/** A backend that does something of a test's before one of its calls, counted from 1. */
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
  // The counters stay those of the backend itself.
  return { ...backend, ...Object.fromEntries(counted) } as Backend;
}

/** The code of the loss that tests make up. */
export const LOST = 'device/test';

/** A backend that is lost before one of its calls: that one throws, as do all after it, and what waits rejects. */
export function lostBefore(backend: Backend, call: number): Backend {
  return interrupted(backend, call, ({ abort }) => abort(new DeviceLostError(LOST, `Lost before call ${call}.`)));
}

/**
 * A backend whose reads are answered late, each after another number of turns of the event loop, so that they are answered
 * in any order; they hold what was there when they were asked for. Those under way at an abort reject.
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
