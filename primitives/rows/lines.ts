import { type Column, commonLength } from '../columns/column.ts';
import { type Grid, gridOf } from '../columns/grid.ts';
import { destination, fuse, programOf, storeRows } from '../columns/program.ts';
import { fuseColumns } from '../columns/views.ts';
import { requireContext } from '../context/context-option.ts';
import { addTo, neutral } from '../derived/assembled-program.ts';
import { For, Let } from '../functors/control.ts';
import { literal } from '../functors/recorder.ts';
import { type U32, Value } from '../functors/value.ts';
import type { ScalarType } from '../ir/ir.ts';
import { type AnyMonoid, monoidProgram } from '../monoid.ts';
import { LineTree, statesOf } from './line-tree.ts';

/** Which lines of a grid are combined, each by itself: its rows or its columns. */
export type LineAxis = 'rows' | 'columns';

/** The lines of a grid along an axis, and the distance of the cells of a line, and of the first cells of lines. */
interface Lines {
  readonly count: number;
  readonly length: number;
  readonly step: number;
  readonly apart: number;
}

function linesOf({ rows, columns }: Grid, axis: LineAxis): Lines {
  return axis === 'rows'
    ? { count: rows, length: columns, step: 1, apart: columns }
    : { count: columns, length: rows, step: columns, apart: 1 };
}

/** Scans each line of a grid by itself. Returns stored columns of the same shape. */
export function scanAlong(
  primitive: string,
  columns: readonly Column[],
  monoid: AnyMonoid,
  inclusive: boolean,
  axis: LineAxis,
): Column[] {
  const context = requireContext(columns, primitive);
  const length = commonLength(columns, primitive);
  const grid = gridOf(columns, primitive);
  return context.scope(() => {
    const results = columns.map(({ type }) => context.stored(type, length, grid));
    const program = monoidProgram(monoid);
    if (length === 0) return results;
    const fusion = fuseColumns(primitive, columns);
    context.backend.run({
      kind: 'scanLines',
      extent: length as number,
      ...grid,
      axis,
      program: programOf(fusion, context, length),
      monoid: program,
      inclusive,
      stores: results.map((column, value) => ({ ...destination(column), value })),
    });
    return results;
  });
}

/** Cells that one row of a launch combines, at most twice as many. Longer lines are combined in parts first. */
const PART = 64;

/** Combines each line of a grid by itself. Returns stored columns with a row for each line. */
export function reduceAlong(
  primitive: string,
  columns: readonly Column[],
  monoid: AnyMonoid,
  axis: LineAxis,
): Column[] {
  const context = requireContext(columns, primitive);
  commonLength(columns, primitive);
  const lines = linesOf(gridOf(columns, primitive), axis);
  return context.scope(() =>
    (monoidProgram(monoid).exact ? reduceParts : reduceTrees)(primitive, columns, monoid, lines),
  );
}

/** Combines lines part by part, then the parts. The bracketing does not matter to the monoid. */
function reduceParts(primitive: string, columns: readonly Column[], monoid: AnyMonoid, lines: Lines): Column[] {
  const context = requireContext(columns, primitive);
  const program = monoidProgram(monoid);
  const { count, length, step, apart } = lines;
  const parts = length <= 2 * PART ? 1 : Math.ceil(length / PART);
  const part = parts === 1 ? length : PART;
  const results = program.types.map((type) => context.stored(type, parts * count));
  // Neighbours among the results read neighbours: lines follow each other if their first cells do, else parts.
  const [isAcross, inner] = [apart === 1, apart === 1 ? count : parts];
  const fusion = fuse(
    primitive,
    [],
    program.types,
    (index, _, loader) => {
      const number = (value: number): U32 => loader.uniform('u32', value);
      const outer = Let(index.div(number(Math.max(1, inner))));
      const rest = Let(index.sub(outer.mul(number(inner))));
      const [line, at] = isAcross ? [rest, outer] : [outer, rest];
      const from = Let(at.mul(number(part)));
      const first = Let(line.mul(number(apart)));
      const folded = neutral(program);
      For(from, Let(from.add(number(part)).min(number(length))), (cell) =>
        addTo(folded, loader.load(columns, first.add(cell.mul(number(step)))), program),
      );
      return folded.map(Let);
    },
    {
      by: [reduceParts, monoid, isAcross],
      columns,
      values: [Math.max(1, inner), inner, part, apart, part, length, step],
    },
  );
  const stores = results.map((column, value) => ({ ...destination(column), value }));
  storeRows(context, parts * count, fusion, stores);
  if (parts === 1) return results;
  const rest = { count, length: parts, step: isAcross ? count : 1, apart: isAcross ? 1 : parts };
  return reduceParts(primitive, results, monoid, rest);
}

/** Combines lines in the order of the canonical tree of their length. */
function reduceTrees(
  primitive: string,
  columns: readonly Column[],
  monoid: AnyMonoid,
  { count, length, step, apart }: Lines,
): Column[] {
  const context = requireContext(columns, primitive);
  const program = monoidProgram(monoid);
  const { types } = program;
  const results = types.map((type) => context.stored(type, count));
  const states = Array.from({ length: statesOf(length) }, () => types).flat();
  const fusion = fuse(
    primitive,
    [],
    types,
    (line, _, loader) => {
      const zeros = states.map((type) => new Value(literal(type, type === 'bool' ? false : 0)));
      const tree = new LineTree(program, length, zeros as Value<ScalarType>[]);
      const first = Let(line.mul(loader.uniform('u32', apart)));
      const between = loader.uniform('u32', step);
      For(0, length, (at) => {
        tree.add(at, loader.load(columns, Let(first.add(at.mul(between)))).map(Let));
      });
      return tree.total(length).map((value) => Let(value));
    },
    { by: [reduceTrees, monoid, length], columns, values: [apart, step] },
  );
  storeRows(
    context,
    count,
    fusion,
    results.map((column, value) => ({ ...destination(column), value })),
  );
  return results;
}
