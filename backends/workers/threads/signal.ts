import { control } from './queue.ts';

/** The word through which workers wake the host. */
export interface Signal {
  /** Whether workers must report by message that they raised it, because the host cannot wait on the word. */
  readonly isSaid: boolean;
  /** Its value. */
  now(): number;
  /** Raises it from the host, so that every waiter checks again. */
  raise(): void;
  /** Ends the pending wait, because a worker reported that it raised the word. */
  wake(): void;
  /** Resolves when the value changes, or after `timeout` milliseconds, or possibly earlier. */
  change(value: number, timeout: number): Promise<void>;
}

type WaitAsync = (
  words: Int32Array,
  index: number,
  value: number,
  timeout: number,
) => { readonly async: boolean; readonly value: Promise<string> | string };

/** The signal in a control block. Browsers without `Atomics.waitAsync` receive messages instead, which is slower. */
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
      // If a worker raises the word after this check, its message arrives later than the check.
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
