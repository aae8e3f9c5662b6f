import { requireArguments } from './checks/arguments.ts';
import { anything, aWord } from './checks/kinds.ts';
import { Column, type ColumnOwner, requireType, viewColumn } from './columns/column.ts';
import { destination, fuse, programOf } from './columns/program.ts';
import { computedColumn } from './columns/views.ts';
import { wordsOf } from './columns/words.ts';
import { type ContextOption, inContext, requireContext } from './context/context-option.ts';
import { u32 } from './functors/functor.ts';
import { f16OfF32Bits, f32BitsOfF16 } from './functors/standard/half-floats.ts';
import type { U32, Value } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';
import { PACKED_TYPES, type PackedStorage } from './prepared/inputs.ts';

/** The storage formats in which a column of numbers can be packed. */
export type PackedFormat<T extends 'u32' | 'i32' | 'f32'> = T extends 'u32'
  ? 'u8' | 'u16'
  : T extends 'i32'
    ? 'i8' | 'i16'
    : 'f16';

/**
 * Stores numbers in 8 or 16 bits each, several to a word, as `context.column` stores a `Uint8Array` or an `Int16Array`.
 * Functors read the column as u32, i32 or f32. Keeps the lowest bits of every integer, as an assignment to an element of
 * a typed array does.
 *
 * `f16` keeps the nearest of the numbers of IEEE 754 binary16, with 11 significant bits, and that with an even last bit if
 * two are equally near. Numbers from 65520 on become infinite, those up to 2⁻²⁵ zero, with their sign. A NaN stays one,
 * and keeps its sign and the highest 9 bits of its payload. The bits are the same on all backends, by
 * {@link f16OfF32Bits} and {@link f32BitsOfF16}; the result is a view that reads the stored bits as f32.
 *
 * - Work O(n), span O(1). Deterministic. Takes a half or a quarter of the memory of an unpacked column, and of the
 *   bandwidth of every command that reads it. Every thread writes whole words. An empty input gives an empty column.
 *   Accepts device counts (lengths that only the device knows).
 * - Equivalent loop: `const out = new Uint16Array(n); for (let i = 0; i < n; i++) out[i] = values[i]`.
 *
 * @throws {@link ArgumentError} `column/type` if the type of the values is not that of the format: u32 for `u8` and
 * `u16`, i32 for `i8` and `i16`, f32 for `f16`.
 * @example
 * const heights = narrow(ctx.column(Uint32Array.of(1, 65535, 65536)), 'u16');
 * const slopes = narrow(ctx.column(Float32Array.of(0.1, 2049, 65520)), 'f16');
 * await ctx.read({ heights, slopes });
 * // { heights: Uint32Array [1, 65535, 0], slopes: Float32Array [0.0999755859375, 2048, Infinity] }
 */
export function narrow<T extends 'u32' | 'i32' | 'f32'>(
  values: Column<T>,
  format: PackedFormat<T>,
  options?: ContextOption,
): Column<T> {
  const formats = [...Object.keys(PACKED_TYPES), 'f16'];
  requireArguments('narrow', { values, format }, { values: anything, format: aWord(formats) });
  return inContext('narrow', options, (): Column => {
    requireType(values, [format === 'f16' ? 'f32' : PACKED_TYPES[format]], 'values', 'narrow');
    const context = requireContext([values], 'narrow');
    return context.scope(() => (format === 'f16' ? pack16(context, values) : pack(context, values, format)));
  }) as Column<T>;
}

/** Stores f32 as f16. The result reads them as f32. */
function pack16(context: ColumnOwner, values: Column): Column {
  const words = wordsOf(values);
  const halves = computedColumn('narrow', 'u32', words, { by: [pack16], columns: [words] }, (index, loader) => {
    return f16OfF32Bits({ bits: loader.load([words], index)[0] as U32 });
  });
  const stored = pack(context, halves, 'u16');
  const numbers = fuse(
    'narrowed',
    [],
    ['u32'],
    (index, _, loader) => [f32BitsOfF16({ half: loader.load([stored], index)[0] as U32 })],
    { by: [pack16, 'numbers'], columns: [stored] },
  );
  return viewColumn(context, 'f32', values.length, numbers, 0, values.grid);
}

/** Stores the lowest bits of integers. */
function pack(context: ColumnOwner, values: Column, format: PackedStorage): Column {
  const bits = format.endsWith('8') ? 8 : 16;
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
    { by: [pack, bits], columns: [values], lengths: [length] },
  );
  const to = destination(new Column(context, 'u32', count, { ...stored, storage: 'u32' }));
  context.backend.run({
    kind: 'forEach',
    extent: count,
    program: programOf(words, context, count),
    stores: [{ ...to, value: 0 }],
  });
  return new Column(context, PACKED_TYPES[format], length, { ...stored, storage: format }, values.grid);
}

function lowest(value: Value<ScalarType>, bits: number): U32 {
  return u32(value as U32).and(2 ** bits - 1);
}
