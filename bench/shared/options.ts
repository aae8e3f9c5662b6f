import { open } from '../../on-node.ts';
import type { OpenOptions } from '../../open.ts';
import type { Context } from '../../primitives/context/context.ts';

/** Options of `parseArgs` that select the backend to measure. */
export const BACKEND_OPTIONS = {
  backend: { type: 'string', default: 'workers' },
  adapter: { type: 'string' },
  workers: { type: 'string', default: '2' },
} as const;

/**
 * The parsed values of {@link BACKEND_OPTIONS}. `backend` is `webgpu`, `workers` or `reference`; `adapter` is
 * `hardware` or `software`; `workers` is a number of threads.
 */
export interface BackendValues {
  readonly backend: string;
  readonly adapter?: string | undefined;
  readonly workers: string;
}

/**
 * Opens the backend that the options select.
 *
 * @throws `ArgumentError` if the options are invalid.
 */
export function openNamed({ backend, adapter, workers }: BackendValues): Promise<Context> {
  // `open` checks these values, which come from the command line.
  return open({ backend, adapter, workers: Number(workers) } as OpenOptions);
}
