/**
 * WGSL with which all threads clear the first atomics of a workgroup array. WebGPU clears workgroup memory itself, but
 * some compilers handle that slowly, so it may be disabled.
 */
export function emitClear(array: string, count: string | number, threads: number): string {
  const end = typeof count === 'number' ? `${count}u` : count;
  return `for (var c = t; c < ${end}; c += ${threads}u) { atomicStore(&${array}[c], 0u); }
workgroupBarrier();`;
}
