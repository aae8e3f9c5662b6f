/**
 * One line of WGSL for every k from 0 to `count` − 1. Kernels use such lines to give a thread separate variables
 * instead of an array, which would not stay in registers.
 */
export function lines(count: number, line: (k: number) => string): string {
  return Array.from({ length: count }, (_, k) => line(k)).join('\n');
}
