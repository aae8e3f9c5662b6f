import { computeOf, type OperationName, type OperationOn, type ScalarType } from './operations.ts';
import { bitsOfF32, f32OfBits, f32ToI32, f32ToU32, toF32, toI32, toU32 } from './semantics.ts';

type Value = number | boolean;

/** Evaluates one operation. `from` is the type of the first operand, `to` the type of the result. */
export function evaluate(name: OperationName, from: ScalarType, to: ScalarType, args: readonly Value[]): Value {
  if (name === 'select') return args[2] ? args[1]! : args[0]!;
  if (name === 'convert') return convert(from, to, args[0]!);
  const [a, b] = args as readonly [number, number];
  if (name === 'bits') return reinterpret(from, to, a);
  const result = computeOf(name as OperationOn<typeof from>, from)(a, b);
  return to === 'bool' ? Boolean(result) : ofNumber(to, Number(result));
}

function convert(from: ScalarType, to: ScalarType, x: Value): Value {
  if (to === 'bool') return from === 'bool' ? x : x !== 0;
  if (from === 'f32') return to === 'f32' ? x : to === 'u32' ? f32ToU32(x as number) : f32ToI32(x as number);
  return ofNumber(to, Number(x));
}

function ofNumber(type: Exclude<ScalarType, 'bool'>, x: number): number {
  return type === 'f32' ? toF32(x) : type === 'u32' ? toU32(x) : toI32(x);
}

function reinterpret(from: ScalarType, to: ScalarType, x: number): number {
  const bits = from === 'f32' ? bitsOfF32(x) : x >>> 0;
  return to === 'f32' ? f32OfBits(bits) : to === 'u32' ? bits : bits | 0;
}

/** The 32-bit word that stores a value: the bit pattern of an f32; 0 or 1 for a bool. */
export function wordOfValue(type: ScalarType, value: Value): number {
  return type === 'f32' ? bitsOfF32(value as number) : Number(value) >>> 0;
}
