import { readFileSync } from 'node:fs';
import { DeviceLostError } from '../../../primitives/checks/errors.ts';

/**
 * Address space that V8 and the C library reserve per thread; 590 MiB were measured on Node 20. Threads use little of
 * this space, but if a limit (`ulimit -v`) prevents the reservation, V8 ends the process instead of throwing an error.
 */
const BYTES_PER_THREAD = 640 * 2 ** 20;

/**
 * Throws if a limit on the address space leaves too little room for the threads.
 *
 * @throws `DeviceLostError` `device/no-threads`
 */
export function requireAddressSpace(threads: number, left: number = addressSpaceLeft()): void {
  const needed = threads * BYTES_PER_THREAD;
  if (needed <= left) return;
  const fitting = Math.max(0, Math.floor(left / BYTES_PER_THREAD));
  const others = "open({ backend: 'reference' }), which needs no threads";
  throw new DeviceLostError(
    'device/no-threads',
    'The address space of this process has too little room for worker threads.',
    {
      expected: `${needed} bytes for ${threads} threads`,
      got: `${Math.max(0, left)} bytes below the limit`,
      remedy:
        fitting === 0
          ? `Raise the limit (ulimit -v), or ${others}.`
          : `Raise the limit (ulimit -v), ask for at most ${fitting} workers, or ${others}.`,
    },
  );
}

/**
 * Bytes of address space that this process may still reserve; `Infinity` if there is no limit or the limit is unknown.
 */
export function addressSpaceLeft(read: (file: string) => string = (file) => readFileSync(file, 'utf8')): number {
  try {
    const limit = /^Max address space\s+(\d+)/m.exec(read('/proc/self/limits'));
    if (limit === null) return Infinity;
    const reserved = /^VmSize:\s+(\d+) kB/m.exec(read('/proc/self/status'));
    return reserved === null ? Infinity : Number(limit[1]) - 1024 * Number(reserved[1]);
  } catch {
    // The files do not exist on systems other than Linux, and a process may lack permission to read them.
    return Infinity;
  }
}
