import { type Column, viewColumn } from '../../primitives/columns/column.ts';
import { fuse, type Loader, type UniformValue } from '../../primitives/columns/program.ts';
import type { Context } from '../../primitives/context/context.ts';
import { bool } from '../../primitives/functors/functor.ts';
import type { Bool, U32, Value } from '../../primitives/functors/value.ts';
import type { ScalarType } from '../../primitives/ir/ir.ts';
import { hasBit } from '../../primitives/pack-bits.ts';

type Values = readonly Value<ScalarType>[];

/** A constant in a condition or an expression. It is passed as a uniform, so another value needs no new compilation. */
export interface Constant {
  readonly type: ScalarType;
  readonly value: UniformValue;
}

/** The inputs of a condition or an expression for one row, as values in a functor. */
export interface RowInputs {
  readonly row: U32;
  readonly values: Values;
  /** For each column of bits, the word that contains the bit of the row. */
  readonly words: readonly U32[];
  readonly constants: Values;
}

/**
 * A part of a query, such as a condition or an expression, computed for every row: its columns, its constants and its
 * code. Parts with the same `structure` have the same code.
 */
export interface QuestionPart<T> {
  readonly structure: string;
  /** Columns with one element per row. */
  readonly columns: readonly Column[];
  /** Columns with one bit per row. */
  readonly bits: readonly Column<'u32'>[];
  readonly constants: readonly Constant[];
  readonly emit: (inputs: RowInputs) => T;
}

/** Combines the results of several parts of a query (conditions or expressions) in one part. */
export function combineParts<A, T>(
  name: string,
  parts: readonly QuestionPart<A>[],
  combine: (made: readonly A[]) => T,
): QuestionPart<T> {
  return {
    structure: `${name}(${parts.map(({ structure }) => structure).join(' ')})`,
    columns: parts.flatMap(({ columns }) => columns),
    bits: parts.flatMap(({ bits }) => bits),
    constants: parts.flatMap(({ constants }) => constants),
    emit: ({ row, values, words, constants }) => {
      const rest = { values: [...values], words: [...words], constants: [...constants] };
      const made = parts.map((part) =>
        part.emit({
          row,
          values: rest.values.splice(0, part.columns.length),
          words: rest.words.splice(0, part.bits.length),
          constants: rest.constants.splice(0, part.constants.length),
        }),
      );
      return combine(made);
    },
  };
}

/** A part of a query that converts the result of another part. */
export function mapPart<A, T>(name: string, part: QuestionPart<A>, change: (made: A) => T): QuestionPart<T> {
  return combineParts(name, [part], ([made]) => change(made!));
}

export function columnsPart(columns: readonly Column[]): QuestionPart<Values> {
  return { structure: `c${columns.length}`, columns, bits: [], constants: [], emit: ({ values }) => values };
}

export function constantPart<T extends ScalarType>(type: T, value: number | boolean): QuestionPart<Value<T>> {
  return {
    structure: type,
    columns: [],
    bits: [],
    constants: [{ type, value }],
    emit: ({ constants }) => constants[0] as Value<T>,
  };
}

/** A part of a query whose result is the same for all rows and needs no constants. */
export function fixedPart<T>(name: string, make: () => T): QuestionPart<T> {
  return { structure: name, columns: [], bits: [], constants: [], emit: make };
}

/** The part of a query whose result is the index of the row. */
export const rowPart: QuestionPart<U32> = {
  structure: 'row',
  columns: [],
  bits: [],
  constants: [],
  emit: ({ row }) => row,
};

/** Whether the bit of the row is set in every column of bits. Each distinct column is read only once. */
export function bitsPart(columns: readonly (Column<'u32'> | undefined)[]): QuestionPart<Bool> {
  const bits = [...new Set(columns.filter((each) => each !== undefined))];
  if (bits.length === 0) return fixedPart('true', () => bool(true));
  return {
    structure: `b${bits.length}`,
    columns: [],
    bits,
    constants: [],
    emit: ({ row, words }) =>
      hasBit(
        words.reduce((all, each) => all.and(each)),
        row,
      ),
  };
}

/** Emits the code of a part of a query, for one row, into a fused program. */
export function emitPart<T>({ columns, bits, constants, emit }: QuestionPart<T>, row: U32, loader: Loader): T {
  const uniforms = constants.map(({ type, value }) => loader.uniform(type, value));
  const values = loader.load(columns, row);
  const words = bits.length === 0 ? [] : (loader.load(bits, row.shr(5)) as U32[]);
  return emit({ row, values, words, constants: uniforms });
}

/**
 * Returns the results of a part of a query as views, one per result. The views cover every row or, if `at` is given,
 * the rows whose indices are in `at`.
 */
export function viewsOf(
  context: Context,
  rows: Column['length'],
  types: readonly ScalarType[],
  part: QuestionPart<readonly Value<ScalarType>[]>,
  at?: Column<'u32'>,
): readonly Column[] {
  const body: Parameters<typeof fuse>[3] = (index, _, loader) => {
    const row = at === undefined ? index : (loader.load([at], index)[0] as U32);
    return emitPart(part, row, loader);
  };
  const { structure, columns, bits, constants } = part;
  const view = fuse('question', [], types, body, {
    by: [viewsOf, structure, columns.length, at === undefined],
    columns: [...columns, ...bits, ...(at === undefined ? [] : [at])],
    values: constants.map(({ value }) => value),
  });
  return types.map((type, result) => viewColumn(context, type, rows, view, result));
}
