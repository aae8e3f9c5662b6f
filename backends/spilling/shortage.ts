import { OutOfMemoryError, QuadrilleError } from '../../primitives/errors.ts';

/** Whether a command failed for lack of a resource of which windows need less. */
export function isShortage(error: unknown): boolean {
  return error instanceof OutOfMemoryError || isWantOfBindings(error);
}

/** Whether the buffers of a command have more parts than a kernel can bind. */
export function isWantOfBindings(error: unknown): boolean {
  return error instanceof QuadrilleError && error.code === 'device/bindings';
}
