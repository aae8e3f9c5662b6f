import type { Column } from '../../primitives/columns/column.ts';
import type { Bool } from '../../primitives/functors/value.ts';
import { bitPlaces, packBits } from '../../primitives/pack-bits.ts';
import { sequence } from '../../primitives/sequence.ts';
import { I32 } from './bounds.ts';
import type { DeviceTable } from './device-table.ts';
import { tableError } from './errors.ts';
import type { Expression } from './expressions.ts';
import { floatKeys } from './floats.ts';
import type { CellValue } from './host-table.ts';
import { type IntegerPart, type IntegerValue, integersOf } from './integers.ts';
import { describeOperand, type Operand, operandOf } from './operands.ts';
import { bitsPart, combineParts, mapPart, type QuestionPart, viewsOf } from './part.ts';
import { f32OfKey, f64OfKey } from './sortable.ts';

/** An operand that has a value for every row, that is, not a literal. */
export type ValueOperand = Exclude<Operand, { readonly family: 'literal' }>;

export function valueOperand(table: DeviceTable, expression: Expression): ValueOperand {
  const operand = operandOf(table, expression);
  if (operand.family !== 'literal') return operand;
  throw tableError('type', 'A constant has no value per row.', {
    expected: 'an expression with a column',
    got: describeOperand(operand),
  });
}

/** A text that is equal for equal expressions. */
export function textOf(expression: Expression): string {
  return JSON.stringify(expression, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
}

export type IntegerOperand = ValueOperand & { readonly family: 'integer' };

/** Throws if an operand of a sum, an average or a variance has values that are neither integers nor decimals. */
export function requireIntegers(kind: string, operand: ValueOperand): IntegerOperand {
  if (operand.family === 'integer') return operand;
  throw tableError('type', `${kind} does not support this type.`, {
    expected: 'integers, decimals or f32',
    got: describeOperand(operand),
  });
}

export function validityOf(operand: ValueOperand): readonly (Column<'u32'> | undefined)[] {
  return 'validity' in operand ? operand.validity : [operand.column.validity];
}

/** Whether a row is included: it is chosen, and the value of the operand in this row is not null. */
export function countsWhere(
  chosen: QuestionPart<Bool> | undefined,
  operand: ValueOperand | undefined,
): QuestionPart<Bool> {
  const validity = operand === undefined ? [] : validityOf(operand);
  const valid = bitsPart(validity);
  if (chosen === undefined) return valid;
  if (validity.every((each) => each === undefined)) return chosen;
  return combineParts('and', [chosen, valid], ([a, b]) => a!.and(b!));
}

/** Whether all rows are included. Then no code is needed to test rows. */
export function isEveryRow(counts: QuestionPart<Bool>): boolean {
  return counts.structure === 'true';
}

/** Returns a column (a view, computed when it is read) that tells for every row whether a condition is true. */
export function flagsOf({ context, rows }: DeviceTable, truth: QuestionPart<Bool>): Column<'bool'> {
  const flag = mapPart('', truth, (holds) => [holds]);
  return viewsOf(context, rows, ['bool'], flag)[0] as Column<'bool'>;
}

/** Indices of the rows for which a condition is true, on the device. */
export function rowsWhere(table: DeviceTable, truth: QuestionPart<Bool>): Column<'u32'> {
  const { context, rows } = table;
  return isEveryRow(truth) ? sequence(rows) : bitPlaces(packBits(flagsOf(table, truth), { context }), { context });
}

/**
 * The values of an operand as integers that compare like the values, and the conversion of an integer back to a value.
 */
export interface Ordered {
  readonly integers: IntegerPart;
  cellOf(integer: bigint): CellValue;
}

export function orderedValues(operand: ValueOperand): Ordered {
  switch (operand.family) {
    case 'integer':
      return { integers: operand, cellOf: (integer) => integerCell(operand, integer) };
    case 'f32': {
      const part = mapPart('', floatKeys(operand), (value): IntegerValue => ({ kind: 'i32', value }));
      return {
        integers: { part, bounds: operand.column?.bounds ?? I32, scale: 0, validity: operand.validity },
        cellOf: (key) => f32OfKey(Number(key)),
      };
    }
    case 'f64':
      return { integers: operand.keys, cellOf: f64OfKey };
    default: {
      const { column } = operand;
      return { integers: integersOf(column), cellOf: (key) => cellOfKey(operand.family, column.dictionary, key) };
    }
  }
}

function cellOfKey(family: 'string' | 'bool' | 'date', dictionary: readonly string[], key: bigint): CellValue {
  switch (family) {
    case 'string':
      return dictionary[Number(key)]!;
    case 'bool':
      return key === 1n;
    case 'date':
      return Number(key);
  }
}

/**
 * Converts an integer to a cell value: a decimal if it has decimal places or comes from a decimal column, a number for
 * 32-bit columns, otherwise a bigint.
 */
function integerCell(operand: ValueOperand & { readonly family: 'integer' }, integer: bigint): CellValue {
  const { column, scale } = operand;
  if (scale > 0 || column?.kind === 'decimal') return { units: integer, scale };
  return column?.kind === 'u32' || column?.kind === 'i32' ? Number(integer) : integer;
}
