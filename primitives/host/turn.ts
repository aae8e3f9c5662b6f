/**
 * Lets pending timers and events run. Node has `setImmediate`, which is faster than `setTimeout`, because
 * `setTimeout` waits at least a millisecond.
 */
export function turn(): Promise<void> {
  const { setImmediate } = globalThis as { readonly setImmediate?: (then: () => void) => void };
  return new Promise((resolve) => void (setImmediate ?? setTimeout)(resolve));
}
