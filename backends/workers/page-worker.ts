import type { HostMessage, WorkerSetup } from './threads/queue.ts';
import { serve } from './worker-loop.ts';

// The program of a web worker. The first message contains the setup of the worker. A web worker receives messages only
// in its event loop, so `serve` yields to the event loop while a sent message has not arrived yet.

/** The members of the worker's global scope that this file uses. */
interface Scope {
  onmessage: (event: { readonly data: unknown }) => void;
  postMessage(message: unknown): void;
  close(): void;
}

const scope = globalThis as unknown as Scope;
const arrived: HostMessage[] = [];
let wake = (): void => {};

scope.onmessage = ({ data }) => {
  scope.onmessage = (event) => {
    arrived.push(event.data as HostMessage);
    wake();
  };
  void work(data as WorkerSetup);
};

async function work(setup: WorkerSetup): Promise<void> {
  await serve(setup, {
    take: () => arrived.shift(),
    arrival: () =>
      new Promise<void>((resolve) => {
        wake = resolve;
      }),
    turn: () => new Promise((resolve) => setTimeout(resolve)),
    say: (message) => scope.postMessage(message),
  });
  scope.postMessage({ kind: 'left' });
  scope.close();
}
