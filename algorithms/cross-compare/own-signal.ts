/** Runs work under a separate abort signal, which is aborted when the given signal is aborted. */
export type UnderOwnSignal = <R>(signal: AbortSignal, work: (own: AbortSignal) => Promise<R>) => Promise<R>;

/**
 * Creates a function that derives signals. The function adds only one listener to each given signal, however much work
 * is in progress, because platforms warn of more than ten listeners.
 */
export function ownSignals(): UnderOwnSignal {
  const listening = new WeakMap<AbortSignal, Set<AbortController>>();
  const listenTo = (signal: AbortSignal): Set<AbortController> => {
    const controllers = new Set<AbortController>();
    const abortAll = (): void => {
      for (const controller of controllers) controller.abort(signal.reason);
    };
    signal.addEventListener('abort', abortAll, { once: true });
    listening.set(signal, controllers);
    return controllers;
  };
  return async (signal, work) => {
    signal.throwIfAborted();
    const controllers = listening.get(signal) ?? listenTo(signal);
    const controller = new AbortController();
    controllers.add(controller);
    try {
      return await work(controller.signal);
    } finally {
      controllers.delete(controller);
    }
  };
}
