import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { HostMessage, WorkerSetup } from './threads/queue.ts';
import { serve } from './worker-loop.ts';

// The program of a Node worker thread. `take` receives messages synchronously, without returning to the event loop.
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
void serve(workerData as WorkerSetup, {
  take: () => (receiveMessageOnPort(parentPort!) as { message: HostMessage } | undefined)?.message,
  arrival: turn,
  turn,
  say: (message) => parentPort!.postMessage(message),
});
