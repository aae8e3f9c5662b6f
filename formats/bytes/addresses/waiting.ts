const stopsOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `stop` when the signal is aborted, at once if it is. Returns a function that ends this. A signal gets one listener for
 * all that wait: Node warns of more than ten.
 */
export function onAbort(signal: AbortSignal, stop: () => void): () => void {
  if (signal.aborted) {
    stop();
    return () => undefined;
  }
  const known = stopsOf.get(signal);
  const stops = known ?? new Set();
  if (known === undefined) {
    stopsOf.set(signal, stops);
    const stopAll = (): void => {
      for (const each of stops) each();
    };
    signal.addEventListener('abort', stopAll, { once: true });
  }
  stops.add(stop);
  return () => stops.delete(stop);
}

/** Settles as the promise does, or rejects with the reason of the signal if that is aborted before. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const ignore = onAbort(signal, () => reject(signal.reason));
    promise.then(resolve, reject).finally(ignore);
  });
}

/** Waits some milliseconds, or rejects with the reason of the signal if that is aborted before. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await untilAborted(new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))), signal);
  } finally {
    clearTimeout(timer);
  }
}

/** A number of places of which each is held by one at a time, in the order of asking. */
export interface Places {
  /** Waits for a place. Returns the function that gives it back. */
  take(signal: AbortSignal): Promise<() => void>;
}

export function createPlaces(count: number): Places {
  let free = count;
  const waiting: (() => void)[] = [];
  const giveBack = (): void => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  return {
    async take(signal) {
      signal.throwIfAborted();
      if (free > 0) free--;
      else {
        let getsPlace: () => void = () => undefined;
        const got = new Promise<void>((resolve) => (getsPlace = resolve));
        waiting.push(getsPlace);
        await untilAborted(got, signal).catch((error) => {
          const at = waiting.indexOf(getsPlace);
          // A place may have been given at the same moment.
          if (at === -1) giveBack();
          else waiting.splice(at, 1);
          throw error;
        });
      }
      let isHeld = true;
      return () => {
        if (isHeld) giveBack();
        isHeld = false;
      };
    },
  };
}

/** Aborts what takes too long: if it is not touched for some milliseconds, or if the signal is aborted. */
export interface Watch {
  readonly signal: AbortSignal;
  /** Whether it was not touched for too long. */
  hasStalled(): boolean;
  touch(): void;
  /** Ends the watch. */
  stop(): void;
}

export function watchStalls(ms: number, signal: AbortSignal): Watch {
  const controller = new AbortController();
  let isStalled = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ignore = onAbort(signal, () => controller.abort(signal.reason));
  const watch: Watch = {
    signal: controller.signal,
    hasStalled: () => isStalled,
    touch() {
      clearTimeout(timer);
      timer = setTimeout(() => {
        isStalled = true;
        controller.abort();
      }, ms);
    },
    stop() {
      clearTimeout(timer);
      ignore();
    },
  };
  watch.touch();
  return watch;
}
