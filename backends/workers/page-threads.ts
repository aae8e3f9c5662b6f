import { DeviceLostError } from '../../primitives/errors.ts';
import { pageWorkerText } from './page-worker-text.ts';
import type { WorkerMessage, WorkerSetup } from './threads/queue.ts';
import { PATIENCE, type Thread, type Threads } from './threads/threads.ts';

/** What a page's worker says, which adds its leave. */
type PageMessage = WorkerMessage | { readonly kind: 'left' };

/**
 * The web workers of a page, started out of the package's own text or, where a Content-Security-Policy forbids that, out of
 * the file at an address.
 */
export function pageThreads(address?: string | URL): Threads {
  return {
    cores: () => globalThis.navigator?.hardwareConcurrency ?? 1,
    requireSharing,
    requireRoom: () => {},
    turn,
    start: (setup) => startPageWorker(setup, address),
    refused: (_, cause) => notStarted(address, cause),
  };
}

/** Workers share memory only where no other origin shares the page's process. */
function requireSharing(): void {
  const isIsolated = globalThis.crossOriginIsolated !== false && typeof SharedArrayBuffer !== 'undefined';
  if (!isIsolated) {
    throw new DeviceLostError('workers/not-isolated', 'Workers cannot share memory, as this page is not isolated.', {
      expected: 'a page for which crossOriginIsolated is true',
      got: 'false',
      remedy:
        'Serve the page over https, or from localhost, with the headers Cross-Origin-Opener-Policy: same-origin and ' +
        "Cross-Origin-Embedder-Policy: require-corp (or credentialless), or open({ backend: 'reference' }).",
    });
  }
  if (typeof Worker === 'undefined') {
    throw new DeviceLostError('device/no-threads', 'There are no web workers here.', {
      remedy: 'In Node, or where a bundle is made for it, resolve the package with the condition `node`.',
    });
  }
}

/** By a message, as timers of a page wait for 4 ms when they follow one another. */
function turn(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

function startPageWorker(setup: WorkerSetup, address: string | URL | undefined): Thread {
  const own = address === undefined ? URL.createObjectURL(new Blob([pageWorkerText], { type: 'text/javascript' })) : '';
  // A blob that is not loaded yet must not be forgotten.
  const forgetOwn = (): void => URL.revokeObjectURL(own);
  let worker: Worker | undefined;
  try {
    worker = new Worker(address ?? own, { name: `quadrille ${setup.worker}` });
    worker.postMessage(setup);
    return pageThread(worker, forgetOwn, (cause) => notStarted(address, cause));
  } catch (error) {
    worker?.terminate();
    forgetOwn();
    throw error;
  }
}

/** What the pool sees of a web worker, of which nobody says that it has ended but itself. */
function pageThread(worker: Worker, loaded: () => void, neverStarted: (cause: unknown) => DeviceLostError): Thread {
  let isStarted = false;
  let hasEnded = (): void => {};
  const ended = new Promise<void>((resolve) => {
    hasEnded = resolve;
  });
  const end = (): void => {
    worker.terminate();
    loaded();
    hasEnded();
  };
  return {
    post: (message) => worker.postMessage(message),
    follow(said, failed) {
      worker.onmessage = ({ data }: MessageEvent<PageMessage>) => {
        isStarted = true;
        loaded();
        if (data.kind !== 'left') return said(data);
        end();
        failed(new Error('the worker left'));
      };
      const fail = (cause: unknown): void => {
        end();
        failed(isStarted ? cause : neverStarted(cause));
      };
      worker.onmessageerror = () => fail(new Error('the worker could not be understood'));
      worker.onerror = (event) => {
        event.preventDefault();
        fail(event.error ?? new Error(event.message ?? 'the file of the worker could not be loaded'));
      };
    },
    unref: () => {},
    async leave() {
      const impatience = setTimeout(end, PATIENCE);
      await ended;
      clearTimeout(impatience);
    },
    async terminate() {
      end();
    },
  };
}

/** That a page's worker cannot be started: most often its policy forbids it. */
function notStarted(address: string | URL | undefined, cause: unknown): DeviceLostError {
  return new DeviceLostError('device/no-threads', 'A web worker cannot be started.', {
    expected: address === undefined ? 'a worker out of a blob: address' : `a worker out of ${address}`,
    got: cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause),
    remedy:
      address === undefined
        ? 'Where the Content-Security-Policy of the page forbids it, allow worker-src blob:, or serve the file ' +
          'quadrille/page-worker.js and give its address as the option workerUrl.'
        : 'The option workerUrl has to be the address, of the same origin, of the file ' +
          'quadrille/page-worker.js, served with Cross-Origin-Embedder-Policy as the page is.',
    cause,
  });
}
