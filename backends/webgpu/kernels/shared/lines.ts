/**
 * One line of WGSL for every number below `count`. A thread's values are separate variables, not an array, so that they
 * stay in registers.
 */
export function lines(count: number, line: (k: number) => string): string {
  return Array.from({ length: count }, (_, k) => line(k)).join('\n');
}
