import { requireArguments } from './checks/arguments.ts';
import { anything, aWord } from './checks/kinds.ts';
import { Column, requireType } from './columns/column.ts';
import { destination, fuse, programOf } from './columns/program.ts';
import { type ContextOption, inContext, requireContext } from './context/context-option.ts';
import { u32 } from './functors/functor.ts';
import type { U32, Value } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';
import { PACKED_TYPES } from './prepared/inputs.ts';

/** The storage formats in which a column of integers can be packed. */
export type PackedFormat<T extends 'u32' | 'i32'> = T extends 'u32' ? 'u8' | 'u16' : 'i8' | 'i16';

/**
 * Stores integers in 8 or 16 bits each, several to a word, as `context.column` stores a `Uint8Array` or an
 * `Int16Array`. Functors read the column as u32 or i32. Keeps the lowest bits of every integer, as an assignment to an
 * element of a typed array does.
 *
 * - Work O(n), span O(1). Deterministic. Takes a half or a quarter of the memory of an unpacked column, and of the
 *   bandwidth of every command that reads it. Every thread writes whole words. An empty input gives an empty column.
 *   Accepts device counts (lengths that only the device knows).
 * - Equivalent loop: `const out = new Uint16Array(n); for (let i = 0; i < n; i++) out[i] = values[i]`.
 *
 * @throws {@link ArgumentError} `column/type` if the type of the values is not that of the format: u32 for `u8` and
 * `u16`, i32 for `i8` and `i16`.
 * @example
 * const heights = narrow(ctx.column(Uint32Array.of(1, 65535, 65536)), 'u16');
 * await ctx.read(heights); // Uint32Array [1, 65535, 0]
 */
export function narrow<T extends 'u32' | 'i32'>(
  values: Column<T>,
  format: PackedFormat<T>,
  options?: ContextOption,
): Column<T> {
  requireArguments('narrow', { values, format }, { values: anything, format: aWord(Object.keys(PACKED_TYPES)) });
  const type = PACKED_TYPES[format];
  const bits = format.endsWith('8') ? 8 : 16;
  return inContext('narrow', options, () => {
    requireType(values, [type], 'values', 'narrow');
    const context = requireContext([values], 'narrow');
    return context.scope(() => {
      const { length } = values;
      const perWord = 32 / bits;
      const count = Math.ceil(values.capacity / perWord);
      const memory = context.allocate(count, typeof length === 'number' ? undefined : length.memory);
      const stored = { kind: 'stored', memory, offset: 0 } as const;
      const words = fuse(
        'narrow',
        [],
        ['u32'],
        (index, _, loader) => {
          const first = index.mul(perWord);
          const parts = Array.from({ length: perWord }, (_, i) => {
            const [value] = loader.loadWithin([values], first.add(i), length);
            return lowest(value!, bits).shl(bits * i);
          });
          return [parts.reduce((word, part) => word.or(part))];
        },
        { by: [narrow, bits], columns: [values], lengths: [length] },
      );
      const to = destination(new Column(context, 'u32', count, { ...stored, storage: 'u32' }));
      context.backend.run({
        kind: 'forEach',
        extent: count,
        program: programOf(words, context, count),
        stores: [{ ...to, value: 0 }],
      });
      return new Column(context, type, length, { ...stored, storage: format }, values.grid) as Column<T>;
    });
  });
}

function lowest(value: Value<ScalarType>, bits: number): U32 {
  return u32(value as U32).and(2 ** bits - 1);
}
