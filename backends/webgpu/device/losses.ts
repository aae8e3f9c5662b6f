type Listener = (reason: GPUDeviceLostInfo) => void;

/**
 * The listeners for the loss of each device. This map is needed because a callback of the promise `device.lost` cannot
 * be removed.
 */
const listenersOf = new WeakMap<GPUDevice, Set<Listener>>();

/**
 * Calls `listener` when a device is lost. The returned function removes the listener, so that a device does not keep a
 * closed context in memory.
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
