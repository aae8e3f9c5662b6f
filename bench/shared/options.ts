import { open } from '../../on-node.ts';
import type { OpenOptions } from '../../open.ts';
import type { Context } from '../../primitives/context.ts';

/** The backend that a program measures, as options of `parseArgs`. */
export const BACKEND_OPTIONS = {
  backend: { type: 'string', default: 'workers' },
  adapter: { type: 'string' },
  workers: { type: 'string', default: '2' },
} as const;

/** The values of these options: `webgpu`, `workers` or `reference`; `hardware` or `software`; a number of threads. */
export interface BackendValues {
  readonly backend: string;
  readonly adapter?: string | undefined;
  readonly workers: string;
}

/**
 * Opens the backend given by options.
 *
 * @throws `ArgumentError` if they are invalid.
 */
export function openNamed({ backend, adapter, workers }: BackendValues): Promise<Context> {
  // The values come from the command line; `open` checks them.
  return open({ backend, adapter, workers: Number(workers) } as OpenOptions);
}
