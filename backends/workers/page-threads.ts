import { DeviceLostError } from '../../primitives/checks/errors.ts';
import { pageWorkerText } from './page-worker-text.ts';
import type { WorkerMessage, WorkerSetup } from './threads/queue.ts';
import { PATIENCE, type Thread, type Threads } from './threads/threads.ts';

/**
 * A message from a web worker: either a message that Node workers send too, or the report that the web worker has
 * ended.
 */
type PageMessage = WorkerMessage | { readonly kind: 'left' };

/**
 * Returns the `Threads` of a page, which start web workers. The program text is part of the package and is loaded
 * through a `blob:` address. If a Content-Security-Policy forbids such addresses, `address` must be the address of a
 * file with the program.
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

/**
 * Throws unless the page is isolated from other origins, because browsers allow shared memory only on isolated pages.
 */
function requireSharing(): void {
  const isIsolated = globalThis.crossOriginIsolated !== false && typeof SharedArrayBuffer !== 'undefined';
  if (!isIsolated) {
    throw new DeviceLostError(
      'workers/not-isolated',
      'Workers cannot share memory, because this page is not isolated.',
      {
        expected: 'a page for which crossOriginIsolated is true',
        got: 'false',
        remedy:
          'Serve the page over https, or from localhost, with the headers Cross-Origin-Opener-Policy: same-origin and ' +
          "Cross-Origin-Embedder-Policy: require-corp (or credentialless), or open({ backend: 'reference' }).",
      },
    );
  }
  if (typeof Worker === 'undefined') {
    throw new DeviceLostError('device/no-threads', 'Web workers are not available here.', {
      remedy: 'In Node, or when bundling for Node, resolve the package with the condition `node`.',
    });
  }
}

/**
 * Yields to the event loop. Uses a message, because a timer that is set from another timer takes at least 4 ms on a
 * page.
 */
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
  // The blob's address must stay valid until the worker has loaded the program.
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

/** A web worker as a `Thread`. Browsers do not report the end of a worker, so the worker reports it by a message. */
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
        failed(new Error('the worker has left'));
      };
      const fail = (cause: unknown): void => {
        end();
        failed(isStarted ? cause : neverStarted(cause));
      };
      worker.onmessageerror = () => fail(new Error('a message of the worker could not be deserialized'));
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

/**
 * The error for a web worker that cannot be started, usually because the Content-Security-Policy of the page forbids
 * it.
 */
function notStarted(address: string | URL | undefined, cause: unknown): DeviceLostError {
  return new DeviceLostError('device/no-threads', 'A web worker cannot be started.', {
    expected: address === undefined ? 'a worker from a blob: address' : `a worker from ${address}`,
    got: cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause),
    remedy:
      address === undefined
        ? 'If the Content-Security-Policy of the page forbids it, allow worker-src blob:, or serve the file ' +
          'quadrille/page-worker.js and pass its address as the option workerUrl.'
        : 'The option workerUrl must be the address, of the same origin, of the file ' +
          'quadrille/page-worker.js, served with the same Cross-Origin-Embedder-Policy as the page.',
    cause,
  });
}
