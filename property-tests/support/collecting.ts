import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Collects garbage at once. */
export const collect: () => void = runInNewContext('gc');

/** What is kept from being collected, by the tokens with which it is registered. All files of a process share it. */
interface Pins {
  readonly kept: Map<object, object>;
  isOn: boolean;
}

const KEY = Symbol.for('quadrille.pins');
const shared = globalThis as { [KEY]?: Pins };

/** Keeps all memory of columns from being garbage-collected, until it is freed or its context is closed. */
export function pinColumns(): void {
  if (shared[KEY] !== undefined) return;
  const pins: Pins = { kept: new Map(), isOn: true };
  shared[KEY] = pins;
  const { register, unregister } = FinalizationRegistry.prototype;
  Object.assign(FinalizationRegistry.prototype, {
    register(this: FinalizationRegistry<unknown>, target: object, held: unknown, token?: object): void {
      const isAllocation = typeof held === 'object' && held !== null && 'buffer' in held && 'giveBack' in held;
      if (pins.isOn && isAllocation && token !== undefined) pins.kept.set(token, target);
      register.call(this, target, held, token);
    },
    unregister(this: FinalizationRegistry<unknown>, token: object): boolean {
      pins.kept.delete(token);
      return unregister.call(this, token);
    },
  });
}

/** Lets columns that are made from now on be collected, or not. */
export function setCollecting(isOn: boolean): void {
  if (shared[KEY] !== undefined) shared[KEY].isOn = !isOn;
}

/** Collects garbage until `isDone`, at most `most` times: what frees other memory takes several collections. */
export async function collectUntil(isDone: () => boolean, most = 10): Promise<void> {
  for (let i = 0; i < most && !isDone(); i++) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    collect();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
