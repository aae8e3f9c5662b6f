import { control } from './queue.ts';

/** The word of the control block through which workers wake the host. */
export interface Signal {
  /**
   * Whether a worker must also send a message when it changes the word. Needed if the host has no `Atomics.waitAsync`
   * to wait for the change.
   */
  readonly isSaid: boolean;
  /** Returns the current value of the word. */
  now(): number;
  /**
   * Changes the word on the host, so that a pending `change` resolves and the caller of `change` checks its condition
   * again.
   */
  raise(): void;
  /** Ends a pending `change`. Called when a worker's message says that the word was changed. */
  wake(): void;
  /**
   * Resolves when the word is no longer `value`, at the latest after `timeout` milliseconds. May also resolve earlier
   * without reason.
   */
  change(value: number, timeout: number): Promise<void>;
}

type WaitAsync = (
  words: Int32Array,
  index: number,
  value: number,
  timeout: number,
) => { readonly async: boolean; readonly value: Promise<string> | string };

/**
 * The signal of a control block. If a browser lacks `Atomics.waitAsync`, workers also send messages, which is slower.
 */
export function createSignal(shared: SharedArrayBuffer): Signal {
  const words = new Int32Array(shared);
  const { waitAsync } = Atomics as unknown as { readonly waitAsync?: WaitAsync };
  const now = (): number => Atomics.load(words, control.signal);
  const raise = (): void => {
    Atomics.add(words, control.signal, 1);
    Atomics.notify(words, control.signal);
  };
  if (waitAsync === undefined) return createSaidSignal(now, raise);
  const change = async (value: number, timeout: number): Promise<void> => {
    const wait = waitAsync(words, control.signal, value, timeout);
    if (wait.async) await wait.value;
  };
  return { isSaid: false, now, raise, wake: () => {}, change };
}

function createSaidSignal(now: () => number, raise: () => void): Signal {
  let wake = (): void => {};
  return {
    isSaid: true,
    now,
    raise() {
      raise();
      wake();
    },
    wake: () => wake(),
    async change(value, timeout) {
      // A change after this check is not missed: the message about the change is handled only after `wake` is set.
      if (now() !== value) return;
      let timer: ReturnType<typeof setTimeout> | undefined;
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (timeout !== Number.POSITIVE_INFINITY) timer = setTimeout(resolve, timeout);
      });
      clearTimeout(timer);
    },
  };
}
