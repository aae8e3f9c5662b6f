type Listener = (reason: GPUDeviceLostInfo) => void;

/** Who wants to know of the loss of a device: nobody can take a reaction to its promise back. */
const listenersOf = new WeakMap<GPUDevice, Set<Listener>>();

/**
 * Calls back when a device is lost. The function that it returns takes that back, so that nothing is left of a context on a
 * device that outlives it.
 */
export function onLoss(device: GPUDevice, listener: Listener): () => void {
  const listeners = listenersOf.get(device) ?? watch(device);
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function watch(device: GPUDevice): Set<Listener> {
  const listeners = new Set<Listener>();
  listenersOf.set(device, listeners);
  device.lost.then((reason) => {
    for (const listener of listeners) listener(reason);
  });
  return listeners;
}
