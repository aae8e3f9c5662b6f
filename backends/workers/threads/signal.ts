import { control } from './queue.ts';

/** The word through which workers wake the host. */
export interface Signal {
  /** Whether the workers have to say that they raised it, as the host cannot wait for the word itself. */
  readonly isSaid: boolean;
  /** Its value. */
  now(): number;
  /** Raises it, as the host: whoever waits looks anew. */
  raise(): void;
  /** Ends the wait under way: a worker said that it raised the word. */
  wake(): void;
  /** Resolves when the value is another, or after some milliseconds; maybe before. */
  change(value: number, timeout: number): Promise<void>;
}

type WaitAsync = (
  words: Int32Array,
  index: number,
  value: number,
  timeout: number,
) => { readonly async: boolean; readonly value: Promise<string> | string };

/** The signal in a control block. Browsers from before `Atomics.waitAsync` are sent messages, which take longer. */
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
      // What a worker raised before this look, it says after it.
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
