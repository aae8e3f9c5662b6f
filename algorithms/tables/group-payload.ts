import type { Column } from '../../primitives/columns/column.ts';
import { bitsToI32, bitsToU32 } from '../../primitives/functors/standard/bits.ts';
import { add64 } from '../../primitives/functors/standard/wide.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import { I32, isWithin } from './bounds.ts';
import type { Expression } from './expressions.ts';
import { floatKeys, floatsOfKeys } from './floats.ts';
import type { Payload } from './group-keys.ts';
import { type IntegerValue, pairConstant, wideOf } from './integers.ts';
import { columnsPart, combineParts, constantPart, mapPart, type QuestionPart } from './part.ts';
import { textOf, type ValueOperand, validityOf } from './values.ts';

/**
 * Values of up to 32 bits that are sorted along with the keys, so that they need not be gathered from scattered rows
 * after the sort.
 */
export interface Travelling {
  readonly payload: Payload;
  /** Makes the operand of the aggregates from the sorted values. */
  moved(values: Column<'u32'>): ValueOperand;
}

/**
 * Chooses the operand to sort along with the keys. Returns undefined unless all aggregates with an operand have the
 * same one, of integers or f32. Its values must have at most 32 bits and must never be null.
 */
export function travelling(
  expressions: readonly (Expression | undefined)[],
  operands: readonly (ValueOperand | undefined)[],
): Travelling | undefined {
  const texts = new Set(expressions.filter((each) => each !== undefined).map(textOf));
  const operand = operands.find((each) => each !== undefined);
  if (texts.size > 1 || operand === undefined) return undefined;
  if (validityOf(operand).some((each) => each !== undefined)) return undefined;
  if (operand.family === 'f32') return travellingFloats(operand);
  return operand.family === 'integer' ? travellingIntegers(operand) : undefined;
}

function travellingFloats(operand: ValueOperand & { readonly family: 'f32' }): Travelling {
  return {
    payload: { value: mapPart('word', floatKeys(operand), (key) => bitsToU32(key)), bits: 32 },
    moved(values) {
      const keys = mapPart('key', wordsOf(values), (word) => bitsToI32(word));
      return { ...operand, ...floatsOfKeys(keys, operand, []) };
    },
  };
}

/**
 * Plans to sort integers as differences from their minimum. Returns undefined if a difference needs more than 32 bits.
 */
function travellingIntegers(operand: ValueOperand & { readonly family: 'integer' }): Travelling | undefined {
  const { min, max } = operand.bounds;
  const bits = (max - min).toString(2).length;
  if (bits > 32) return undefined;
  const low = constantPart('u32', Number(min & 0xffffffffn));
  const value = combineParts<IntegerValue | U32, U32>('above', [operand.part, low], ([made, first]) =>
    wideOf(made as IntegerValue).lo.sub(first as U32),
  );
  return {
    payload: { value, bits },
    moved(values) {
      const word = wordsOf(values);
      const part = isWithin(operand.bounds, I32)
        ? combineParts<U32, IntegerValue>('from i32', [word, low], ([above, first]) => ({
            kind: 'i32',
            value: bitsToI32(above!.add(first!)),
          }))
        : combineParts<U32 | IntegerValue, IntegerValue>('from i64', [word, pairConstant(min)], ([above, first]) => ({
            kind: 'pair',
            value: add64({ a: { lo: above as U32, hi: 0 }, b: wideOf(first as IntegerValue) }),
          }));
      return { ...operand, part, validity: [] };
    },
  };
}

function wordsOf(values: Column<'u32'>): QuestionPart<U32> {
  return mapPart('', columnsPart([values]), ([word]) => word as U32);
}
