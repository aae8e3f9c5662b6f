import { DeviceLostError } from '../../primitives/checks/errors.ts';
import type { Backend } from '../../primitives/contract/backend.ts';

/** The calls of a backend that a context makes. Before each of these calls, tests can inject a fault. */
const CALLS = ['allocate', 'write', 'upload', 'read', 'lendWords', 'sync', 'run', 'play'] as const;

/** A backend that runs `before` at the start of every call. */
export function watchedCalls(backend: Backend, before: () => void): Backend {
  const watched = CALLS.flatMap((name) => {
    const call = backend[name] as ((...args: unknown[]) => unknown) | undefined;
    if (call === undefined) return [];
    return [
      [
        name,
        (...args: unknown[]) => {
          before();
          return call(...args);
        },
      ],
    ];
  });
  // The other members, such as the memory counters, are those of the wrapped backend.
  return { ...backend, ...Object.fromEntries(watched) } as Backend;
}

/** A backend that runs `fault` before call number `at`, counted from 1. */
export function interrupted(backend: Backend, at: number, fault: (backend: Backend) => void): Backend {
  let calls = 0;
  return watchedCalls(backend, () => {
    if (++calls === at) fault(backend);
  });
}

/** The error code of a simulated loss of the device. */
export const LOST = 'device/test';

/**
 * A backend that is lost before call number `call`. This call and all later calls throw, and pending promises reject.
 */
export function lostBefore(backend: Backend, call: number): Backend {
  return interrupted(backend, call, ({ abort }) => abort(new DeviceLostError(LOST, `Lost before call ${call}.`)));
}

/**
 * A backend that delays the results of reads, so that reads complete in any order. Read number i, counted from 0, is
 * delayed by `turns[i]` turns of the event loop; the list repeats. A read returns the data that the buffer contained
 * when the read was issued. If the backend is aborted, delayed reads reject.
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
