import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { HostMessage, WorkerSetup } from './threads/queue.ts';
import { serve } from './worker-loop.ts';

// What a worker thread of Node runs. It takes messages without going back to the event loop.
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
void serve(workerData as WorkerSetup, {
  take: () => (receiveMessageOnPort(parentPort!) as { message: HostMessage } | undefined)?.message,
  arrival: turn,
  turn,
  say: (message) => parentPort!.postMessage(message),
});
