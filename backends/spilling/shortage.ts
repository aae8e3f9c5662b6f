import { OutOfMemoryError, QuadrilleError } from '../../primitives/checks/errors.ts';

/**
 * Whether a command failed for lack of memory or bindings. The command may then succeed in windows, which need fewer of
 * both.
 */
export function isShortage(error: unknown): boolean {
  return error instanceof OutOfMemoryError || isWantOfBindings(error);
}

/** Whether a command failed because its buffers are split into more GPU buffers than a kernel can bind. */
export function isWantOfBindings(error: unknown): boolean {
  return error instanceof QuadrilleError && error.code === 'device/bindings';
}
