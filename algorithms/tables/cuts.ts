import type { Cut } from './bounds.ts';
import { dayOf } from './dates.ts';
import { decimalOf, floorAt } from './decimals.ts';
import { placeOf } from './dictionary.ts';
import type { LiteralValue } from './expressions.ts';
import { f32Cut, f64Cut } from './float-cuts.ts';
import type { Operand } from './operands.ts';

const ABOVE_ALL: Cut = { at: 2n ** 70n, isThere: false };
const BELOW_ALL: Cut = { at: -(2n ** 70n), isThere: false };

/** The position of a literal. Undefined if the literal has another type than the operand. */
export function cutOf(
  operand: Exclude<Operand, { readonly family: 'literal' }>,
  value: Exclude<LiteralValue, null>,
): Cut | undefined {
  switch (operand.family) {
    case 'integer': {
      const decimal = decimalOf(value);
      if (decimal === undefined) return typeof value !== 'number' ? undefined : value < 0 ? BELOW_ALL : ABOVE_ALL;
      const { floor, isWhole } = floorAt(decimal, operand.scale);
      return { at: floor, isThere: isWhole };
    }
    case 'f32':
    case 'f64': {
      const cut = operand.family === 'f32' ? f32Cut : f64Cut;
      if (typeof value === 'number') return cut(value);
      const decimal = decimalOf(value);
      return decimal && cut(decimal);
    }
    case 'bool':
      return typeof value === 'boolean' ? { at: BigInt(value), isThere: true } : undefined;
    case 'date': {
      const day = typeof value === 'string' ? dayOf(value) : value;
      const isWhole = typeof day === 'bigint' || Number.isInteger(day);
      return isWhole ? { at: BigInt(day as number | bigint), isThere: true } : undefined;
    }
    case 'string': {
      if (typeof value !== 'string') return undefined;
      const { below, isThere } = placeOf(operand.column.dictionary, value);
      return isThere ? { at: BigInt(below), isThere } : { at: BigInt(below) - 1n, isThere };
    }
  }
}
