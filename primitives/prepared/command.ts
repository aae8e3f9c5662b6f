import type { ArrayBinding, DeviceBuffer, KernelCommand, Length, Program } from '../contract/backend.ts';
import { visitCommand } from '../contract/visit-command.ts';
import type { Script, ScriptCall } from './script.ts';

/** A kernel command, or a call of a prepared pipeline. */
export type Command = KernelCommand | { readonly kind: 'play'; readonly script: Script; readonly call: ScriptCall };

/** A mapping of the buffers and uniforms of a command to others, so that the command can run on other memory. */
export interface Lookup {
  /** The buffer from which the command reads instead of `buffer`. `word` is the offset of the first element read. */
  reading(buffer: DeviceBuffer, word: number): DeviceBuffer;
  writing(buffer: DeviceBuffer): DeviceBuffer;
  /**
   * The part of the replacement buffer that holds the elements of `buffer`, as an offset and a number of elements.
   * Undefined means the whole replacement buffer.
   */
  range?(buffer: DeviceBuffer): { readonly offset: number; readonly capacity: number } | undefined;
  /** The value that replaces the value of a uniform. If this method is missing, uniforms keep their values. */
  uniform?(value: number | boolean): number | boolean;
}

/** A copy of the command in which a lookup has replaced the buffers and uniforms. */
export function rebound<C extends Command>(given: C, at: Lookup): C;
export function rebound(given: Command, at: Lookup): Command {
  if (given.kind === 'play') return { ...given, call: callAt(given.call, at) };
  return visitCommand(given, {
    extent: (length) => lengthAt(length, at),
    program: (program) => programAt(program, at),
    array: (binding) => bindingAt(binding, at),
    target: (target) => ({ ...target, buffer: at.writing(target.buffer) }),
  });
}

function lengthAt(length: Length, at: Lookup): Length {
  return typeof length === 'number' ? length : { ...length, buffer: at.reading(length.buffer, length.word) };
}

function programAt({ module, arrays, uniforms }: Program, at: Lookup): Program {
  const found = new Map<string, ArrayBinding>();
  for (const [name, binding] of arrays) found.set(name, bindingAt(binding, at));
  const { uniform } = at;
  if (uniform === undefined || uniforms.size === 0) return { module, arrays: found, uniforms };
  return { module, arrays: found, uniforms: new Map([...uniforms].map(([name, value]) => [name, uniform(value)])) };
}

function bindingAt(binding: ArrayBinding, at: Lookup): ArrayBinding {
  const { buffer, length, offset } = binding;
  const range = at.range?.(buffer);
  const bound = { ...binding, buffer: at.reading(buffer, offset), length: lengthAt(length, at) };
  return range === undefined ? bound : within(bound, range);
}

/**
 * Restricts an array to a part of its new buffer: `capacity` elements from `offset`. The array is cut at the end of
 * this part.
 */
function within(
  binding: ArrayBinding,
  { offset, capacity }: { readonly offset: number; readonly capacity: number },
): ArrayBinding {
  const { length } = binding;
  const max = Math.max(0, capacity - binding.offset);
  const bounded =
    typeof length === 'number' ? Math.min(length, max) : { ...length, limit: Math.min(length.limit, max) };
  // An array that begins past the end of the part is empty; its offset is cut to the end of the part.
  return { ...binding, offset: Math.min(binding.offset, capacity) + offset, length: bounded };
}

function callAt({ inputs, counts, results, block }: ScriptCall, at: Lookup): ScriptCall {
  return {
    inputs: inputs.map((input) => ({ ...input, buffer: at.reading(input.buffer, input.offset) })),
    counts: counts.map(({ word, length }) => ({
      word,
      length: { ...length, buffer: at.reading(length.buffer, length.word) },
    })),
    results: results.map((buffer) => at.writing(buffer)),
    block,
  };
}
