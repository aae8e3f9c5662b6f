import { open } from '../../on-node.ts';
import type { OpenOptions } from '../../open.ts';
import type { Context } from '../../primitives/context.ts';

/** Which backend a program measures on, as options of `parseArgs`. */
export const BACKEND_OPTIONS = {
  backend: { type: 'string', default: 'workers' },
  adapter: { type: 'string' },
  workers: { type: 'string', default: '2' },
} as const;

/** Their values: `webgpu`, `workers` or `reference`; `hardware` or `software`; a number of threads. */
export interface BackendValues {
  readonly backend: string;
  readonly adapter?: string | undefined;
  readonly workers: string;
}

/**
 * Opens the backend that options name.
 *
 * @throws `ArgumentError` where they name none.
 */
export function openNamed({ backend, adapter, workers }: BackendValues): Promise<Context> {
  // They come from the command line, and are checked where they are used.
  return open({ backend, adapter, workers: Number(workers) } as OpenOptions);
}
