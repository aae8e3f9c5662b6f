/**
 * WGSL that clears the first atomics of a workgroup array, with all threads. WebGPU clears workgroup memory by itself,
 * but some compilers take long over it, so that it may be switched off where it can be.
 */
export function emitClear(array: string, count: string | number, threads: number): string {
  const end = typeof count === 'number' ? `${count}u` : count;
  return `for (var c = t; c < ${end}; c += ${threads}u) { atomicStore(&${array}[c], 0u); }
workgroupBarrier();`;
}
