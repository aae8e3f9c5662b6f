import { open } from '../../on-node.ts';
import type { OpenOptions } from '../../open.ts';
import type { Context } from '../../primitives/context.ts';

/** Options of `parseArgs` that select the backend to measure. */
export const BACKEND_OPTIONS = {
  backend: { type: 'string', default: 'workers' },
  adapter: { type: 'string' },
  workers: { type: 'string', default: '2' },
} as const;

/** The values of BACKEND_OPTIONS: `webgpu`, `workers` or `reference`; `hardware` or `software`; a number of threads. */
export interface BackendValues {
  readonly backend: string;
  readonly adapter?: string | undefined;
  readonly workers: string;
}

/**
 * Opens the backend that the options select.
 *
 * @throws `ArgumentError` if they are invalid.
 */
export function openNamed({ backend, adapter, workers }: BackendValues): Promise<Context> {
  // `open` checks these values, which come from the command line.
  return open({ backend, adapter, workers: Number(workers) } as OpenOptions);
}
