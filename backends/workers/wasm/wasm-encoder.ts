/**
 * Encodes WebAssembly modules in the parts of the binary format that kernels need: one imported shared memory,
 * functions, and exports.
 */

/**
 * Maximum size of the imported memory in pages. All modules declare this maximum, so that they can share one memory.
 */
export const MAX_PAGES = 65536;
export const PAGE_BYTES = 65536;

export const I32 = 0x7f;
export const I64 = 0x7e;
export const F32 = 0x7d;
export const V128 = 0x7b;
export type ValueType = typeof I32 | typeof I64 | typeof F32 | typeof V128;

/** Opcodes of instructions without a prefix byte. */
export const op = {
  unreachable: 0x00,
  return: 0x0f,
  drop: 0x1a,
  select: 0x1b,
  i32Load: 0x28,
  i64Load: 0x29,
  f32Load: 0x2a,
  i32Load8S: 0x2c,
  i32Load8U: 0x2d,
  i32Load16S: 0x2e,
  i32Load16U: 0x2f,
  i32Store: 0x36,
  f32Store: 0x38,
  i32Eqz: 0x45,
  i32Eq: 0x46,
  i32Ne: 0x47,
  i32LtS: 0x48,
  i32LtU: 0x49,
  i32GtS: 0x4a,
  i32GtU: 0x4b,
  i32LeS: 0x4c,
  i32LeU: 0x4d,
  i32GeS: 0x4e,
  i32GeU: 0x4f,
  f32Eq: 0x5b,
  f32Ne: 0x5c,
  f32Lt: 0x5d,
  f32Gt: 0x5e,
  f32Le: 0x5f,
  f32Ge: 0x60,
  i32Clz: 0x67,
  i32Ctz: 0x68,
  i32Popcnt: 0x69,
  i32Add: 0x6a,
  i32Sub: 0x6b,
  i32Mul: 0x6c,
  i32DivS: 0x6d,
  i32DivU: 0x6e,
  i32RemS: 0x6f,
  i32RemU: 0x70,
  i32And: 0x71,
  i32Or: 0x72,
  i32Xor: 0x73,
  i32Shl: 0x74,
  i32ShrS: 0x75,
  i32ShrU: 0x76,
  i64LtS: 0x53,
  i64GtS: 0x55,
  i64Add: 0x7c,
  i64Sub: 0x7d,
  i64Shl: 0x86,
  i64Mul: 0x7e,
  i64ShrU: 0x88,
  f32Abs: 0x8b,
  f32Neg: 0x8c,
  f32Ceil: 0x8d,
  f32Floor: 0x8e,
  f32Trunc: 0x8f,
  f32Nearest: 0x90,
  f32Sqrt: 0x91,
  f32Add: 0x92,
  f32Sub: 0x93,
  f32Mul: 0x94,
  f32Div: 0x95,
  f32Min: 0x96,
  f32Max: 0x97,
  i32WrapI64: 0xa7,
  i64ExtendI32S: 0xac,
  i64ExtendI32U: 0xad,
  f32ConvertI32S: 0xb2,
  f32ConvertI32U: 0xb3,
  i32ReinterpretF32: 0xbc,
  f32ReinterpretI32: 0xbe,
} as const;

/** Opcodes of instructions with the prefix 0xfc. */
export const extended = { truncSatS: 0x00, truncSatU: 0x01, memoryCopy: 0x0a, memoryFill: 0x0b } as const;

/** Opcodes of atomic instructions, with the prefix 0xfe. */
export const atomic = {
  notify: 0x00,
  wait32: 0x01,
  i32Load: 0x10,
  i32Store: 0x17,
  i32Add: 0x1e,
  i64Add: 0x1f,
  i32And: 0x2c,
  i32Or: 0x33,
  i32Xor: 0x3a,
  i32CompareExchange: 0x48,
} as const;

/** Opcodes of vector instructions, with the prefix 0xfd. */
export const simd = {
  load: 0x00,
  load16x4S: 0x03,
  load16x4U: 0x04,
  load32Splat: 0x09,
  store: 0x0b,
  const: 0x0c,
  shuffle: 0x0d,
  swizzle: 0x0e,
  i32x4Splat: 0x11,
  i64x2Splat: 0x12,
  f32x4Splat: 0x13,
  i32x4Extract: 0x1b,
  i32x4Replace: 0x1c,
  i64x2Extract: 0x1d,
  i64x2Replace: 0x1e,
  f32x4Extract: 0x1f,
  i32x4Eq: 0x37,
  i32x4Ne: 0x38,
  i32x4LtS: 0x39,
  i32x4LtU: 0x3a,
  i32x4GtS: 0x3b,
  i32x4GtU: 0x3c,
  i32x4LeS: 0x3d,
  i32x4LeU: 0x3e,
  i32x4GeS: 0x3f,
  i32x4GeU: 0x40,
  f32x4Eq: 0x41,
  f32x4Ne: 0x42,
  f32x4Lt: 0x43,
  f32x4Gt: 0x44,
  f32x4Le: 0x45,
  f32x4Ge: 0x46,
  not: 0x4d,
  and: 0x4e,
  andNot: 0x4f,
  or: 0x50,
  xor: 0x51,
  bitselect: 0x52,
  anyTrue: 0x53,
  load32Lane: 0x56,
  load32Zero: 0x5c,
  i8x16Popcnt: 0x62,
  f32x4Ceil: 0x67,
  f32x4Floor: 0x68,
  f32x4Trunc: 0x69,
  f32x4Nearest: 0x6a,
  i16x8ExtAddPairwiseU: 0x7d,
  i32x4ExtAddPairwiseU: 0x7f,
  i16x8ExtendLowS: 0x87,
  i16x8ExtendLowU: 0x89,
  i32x4Abs: 0xa0,
  i32x4Neg: 0xa1,
  i32x4Bitmask: 0xa4,
  i32x4ExtendLowS: 0xa7,
  i32x4ExtendLowU: 0xa9,
  i32x4Shl: 0xab,
  i32x4ShrS: 0xac,
  i32x4ShrU: 0xad,
  i32x4Add: 0xae,
  i32x4Sub: 0xb1,
  i32x4Mul: 0xb5,
  i32x4MinS: 0xb6,
  i32x4MinU: 0xb7,
  i32x4MaxS: 0xb8,
  i32x4MaxU: 0xb9,
  i32x4DotI16x8S: 0xba,
  i64x2ExtendLowU: 0xc9,
  i64x2ExtendHighU: 0xca,
  i64x2Add: 0xce,
  i64x2ExtMulLowU: 0xde,
  i64x2ExtMulHighU: 0xdf,
  f32x4Abs: 0xe0,
  f32x4Neg: 0xe1,
  f32x4Sqrt: 0xe3,
  f32x4Add: 0xe4,
  f32x4Sub: 0xe5,
  f32x4Mul: 0xe6,
  f32x4Div: 0xe7,
  f32x4PMin: 0xea,
  f32x4PMax: 0xeb,
  i32x4TruncSatS: 0xf8,
  i32x4TruncSatU: 0xf9,
  f32x4ConvertS: 0xfa,
  f32x4ConvertU: 0xfb,
} as const;

/** A function: the types of its parameters, results and other locals, and its instructions without the final `end`. */
export interface FunctionBody {
  readonly parameters: readonly ValueType[];
  readonly results: readonly ValueType[];
  readonly locals: readonly ValueType[];
  readonly bytes: readonly number[];
}

/** Encodes a module that imports `env.memory` and exports the given functions by name. */
export function encodeModule(functions: ReadonlyMap<string, FunctionBody>): Uint8Array<ArrayBuffer> {
  const bodies = [...functions.values()];
  const types = bodies.map(({ parameters, results }) => [0x60, ...vector(parameters), ...vector(results)]);
  const memory = [...text('env'), ...text('memory'), 0x02, 0x03, ...unsigned(1), ...unsigned(MAX_PAGES)];
  const exports = [...functions.keys()].map((name, index) => [...text(name), 0x00, ...unsigned(index)]);
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, list(types)),
    ...section(2, list([memory])),
    ...section(3, list(bodies.map((_, index) => unsigned(index)))),
    ...section(7, list(exports)),
    ...codeSection(bodies),
  ]);
}

function* codeSection(bodies: readonly FunctionBody[]): Iterable<number> {
  const encoded = bodies.map((body) => {
    const locals = list(runs(body.locals));
    const size = locals.length + body.bytes.length + 1;
    return { locals, bytes: body.bytes, size, prefix: unsigned(size) };
  });
  const count = unsigned(bodies.length);
  const size = encoded.reduce((sum, one) => sum + one.prefix.length + one.size, count.length);
  yield 10;
  yield* unsigned(size);
  yield* count;
  for (const { prefix, locals, bytes } of encoded) {
    yield* prefix;
    yield* locals;
    yield* bytes;
    yield 0x0b;
  }
}

/** Encodes the types of locals. For each sequence of equal types, gives its length and the type. */
function runs(types: readonly ValueType[]): number[][] {
  const result: { count: number; type: ValueType }[] = [];
  for (const type of types) {
    const last = result.at(-1);
    if (last?.type === type) last.count++;
    else result.push({ count: 1, type });
  }
  return result.map(({ count, type }) => [...unsigned(count), type]);
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...unsigned(content.length), ...content];
}

function list(items: readonly (readonly number[])[]): number[] {
  return [...unsigned(items.length), ...items.flat()];
}

function vector(bytes: readonly number[]): number[] {
  return [...unsigned(bytes.length), ...bytes];
}

function text(value: string): number[] {
  return vector([...new TextEncoder().encode(value)]);
}

/** Encodes an unsigned 32-bit number as LEB128. */
export function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value >>> 0;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return bytes;
}

/** Encodes a signed 32-bit number as LEB128. */
export function signed(value: number): number[] {
  const bytes: number[] = [];
  let rest = value | 0;
  while (rest < -64 || rest > 63) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>= 7;
  }
  bytes.push(rest & 0x7f);
  return bytes;
}
