import { open } from '../../on-node.ts';
import type { OpenOptions } from '../../open.ts';
import type { Context } from '../../primitives/context/context.ts';

/**
 * Options of a program that select the backend to measure. `backend` is `webgpu`, `workers` or `reference`; `adapter` is
 * `hardware` or `software`; `workers` is a number of threads.
 */
export const BACKEND_OPTIONS = { backend: 'workers', adapter: undefined, workers: 2 } as const;

/** The values of such options. */
export interface BackendValues {
  readonly backend: string;
  readonly adapter?: string | undefined;
  readonly workers?: number | string | undefined;
}

/**
 * Opens the backend that the options select.
 *
 * @throws `ArgumentError` if the options are invalid.
 */
export function openNamed({ backend, adapter, workers }: BackendValues, more: OpenOptions = {}): Promise<Context> {
  // `open` checks these values, which come from the command line.
  return open({ backend, adapter, workers: workers && Number(workers), ...more } as OpenOptions);
}

/** A short name of what the options select. */
export function nameOf({ workers }: BackendValues, { backend }: Context): string {
  return backend.name === 'workers' ? `${workers} workers` : backend.name;
}
