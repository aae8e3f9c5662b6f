/**
 * WGSL with which the threads of a workgroup set the first `count` atomics of a workgroup array to 0. WebGPU normally
 * clears workgroup memory, but the clearing may be disabled, because some compilers take long to compile it.
 */
export function emitClear(array: string, count: string | number, threads: number): string {
  const end = typeof count === 'number' ? `${count}u` : count;
  return `for (var c = t; c < ${end}; c += ${threads}u) { atomicStore(&${array}[c], 0u); }
workgroupBarrier();`;
}
