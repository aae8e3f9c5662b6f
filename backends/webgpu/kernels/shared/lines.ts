/** Lines of WGSL, one for every number below the count: what a thread holds are variables of their own, not an array. */
export function lines(count: number, line: (k: number) => string): string {
  return Array.from({ length: count }, (_, k) => line(k)).join('\n');
}
