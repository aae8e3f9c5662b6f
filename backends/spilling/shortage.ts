import { OutOfMemoryError, QuadrilleError } from '../../primitives/errors.ts';

/** Whether a command has failed for want of what windows take less of. */
export function isShortage(error: unknown): boolean {
  return error instanceof OutOfMemoryError || isWantOfBindings(error);
}

/** Whether what a command reads and writes lies in more parts than a kernel binds. */
export function isWantOfBindings(error: unknown): boolean {
  return error instanceof QuadrilleError && error.code === 'device/bindings';
}
