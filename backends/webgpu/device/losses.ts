type Listener = (reason: GPUDeviceLostInfo) => void;

/** The listeners of each device, because a reaction to the promise `lost` cannot be removed. */
const listenersOf = new WeakMap<GPUDevice, Set<Listener>>();

/**
 * Calls back when a device is lost. The returned function removes the listener, so that a context leaves nothing behind
 * on a device that outlives it.
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
