/**
 * WGSL with which the threads of a workgroup clear the first `count` atomics of a workgroup array. WebGPU normally
 * clears workgroup memory, but this may be disabled because some compilers take long for it.
 */
export function emitClear(array: string, count: string | number, threads: number): string {
  const end = typeof count === 'number' ? `${count}u` : count;
  return `for (var c = t; c < ${end}; c += ${threads}u) { atomicStore(&${array}[c], 0u); }
workgroupBarrier();`;
}
