import type { StripsCommand } from '../../primitives/contract/backend.ts';
import { ownedArrays } from '../../primitives/ir/access-patterns.ts';
import { wordOfValue } from '../../primitives/ir/evaluate.ts';
import type { ScalarType } from '../../primitives/ir/ir.ts';
import { type ArrayReader, compileJavaScript } from './emit-javascript.ts';
import type { HostMemory } from './memory.ts';

/** Runs one strip after the other. {@link StripsCommand} documents what a strip may read and write. */
export function strips(memory: HostMemory, { extent, rows, program }: StripsCommand): void {
  const { module, arrays, uniforms } = program;
  const owned = ownedArrays(module);
  const strip: Strip = { first: 0, end: 0 };
  const readers = [...module.arrays].map(([name, type]): [string, ArrayReader] => {
    const binding = arrays.get(name)!;
    const reader = memory.reader(binding, type);
    if (!owned.has(name)) return [name, reader];
    const { u32 } = memory.resolve(binding.buffer).views;
    const write = (index: number, word: number): void => {
      u32[binding.offset + index] = word;
    };
    return [name, ownedArray(reader, type, strip, write)];
  });
  const entry = compileJavaScript(module)(new Map(readers), uniforms);
  const length = memory.lengthOf(extent);
  for (let number = 0; number * rows < length; number++) {
    strip.first = number * rows;
    strip.end = Math.min(length, strip.first + rows);
    entry(number, strip.first, strip.end);
  }
}

/** The rows of the strip that runs now. */
export interface Strip {
  first: number;
  end: number;
}

/** An array of which the strip that runs now owns its rows. `write` stores a word. */
export function ownedArray(
  { at, length }: ArrayReader,
  type: ScalarType,
  strip: Strip,
  write: (index: number, word: number) => void,
): ArrayReader {
  const owns = (index: number): boolean => index >= strip.first && index < strip.end;
  return {
    length,
    at: (index) => (owns(index) ? at(index) : type === 'bool' ? false : 0),
    set(index, value) {
      if (owns(index)) write(index, wordOfValue(type, value));
    },
  };
}
