import type { ArrayBinding, DeviceBuffer, Extent, Length, Program } from '../../../primitives/contract/backend.ts';
import type { Engine } from '../launches/engine.ts';
import type { Memory } from './memory.ts';

/** The inputs of a command, as {@link separate} returns them. No buffer of these inputs is written by the command. */
export interface Inputs<P> {
  readonly extent: Extent;
  readonly programs: P;
  release(): void;
}

/**
 * Copies the buffers that a command both reads and writes, so that the command reads the old contents. WebGPU forbids
 * reading and writing one buffer in the same dispatch, and a command may consist of several dispatches. `release` must
 * be called after the command.
 */
export function separate<P extends readonly Program[]>(
  { pool, recorder }: Engine,
  extent: Extent,
  programs: P,
  written: readonly DeviceBuffer[],
): Inputs<P> {
  const targets = new Set(written.map((buffer) => pool.resolve(buffer)));
  if (!readsAny(pool, extent, programs, targets)) return { extent, programs, release: () => {} };
  const copies = new Map<Memory, Memory>();
  const readable = (buffer: DeviceBuffer): DeviceBuffer => {
    const memory = pool.resolve(buffer);
    if (!targets.has(memory)) return buffer;
    const copy = copies.get(memory) ?? pool.allocate(memory.words);
    if (!copies.has(memory)) {
      for (const [i, part] of memory.parts.entries()) recorder.copy(part, 0, copy.parts[i]!, 0, part.bytes);
      copies.set(memory, copy);
    }
    return copy;
  };
  const lengthOf = (length: Length): Length =>
    typeof length === 'number' ? length : { ...length, buffer: readable(length.buffer) };
  const bindingOf = (binding: ArrayBinding): ArrayBinding => ({
    ...binding,
    buffer: readable(binding.buffer),
    length: lengthOf(binding.length),
  });
  const separated = programs.map((program) => ({
    ...program,
    arrays: new Map([...program.arrays].map(([name, binding]) => [name, bindingOf(binding)])),
  }));
  return {
    extent: lengthOf(extent),
    programs: separated as unknown as P,
    release: () => {
      for (const copy of copies.values()) pool.release(copy);
    },
  };
}

function readsAny(
  pool: Engine['pool'],
  extent: Extent,
  programs: readonly Program[],
  memories: ReadonlySet<Memory>,
): boolean {
  const isAmong = (buffer: DeviceBuffer): boolean => memories.has(pool.resolve(buffer));
  const isCountAmong = (length: Length): boolean => typeof length !== 'number' && isAmong(length.buffer);
  if (isCountAmong(extent)) return true;
  for (const { arrays } of programs) {
    for (const { buffer, length } of arrays.values()) if (isAmong(buffer) || isCountAmong(length)) return true;
  }
  return false;
}
