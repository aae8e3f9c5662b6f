import { requireAnyFunctor, requireArray, requireOptions, requireRecord, wrongArgument } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { isRecord } from './checks/given.ts';
import { anything, type FieldKinds, someRecord } from './checks/kinds.ts';
import { Column, type ColumnOwner, columnsOf, commonLength } from './columns/column.ts';
import { destination, extentOf, fuse, programOf } from './columns/program.ts';
import { columnsIn } from './columns/reachable.ts';
import { storeColumns } from './columns/views.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { type FunctorDescription, splitParameters } from './functors/functor.ts';
import { isScalar, shapeText } from './functors/shapes.ts';
import type { U32 } from './functors/value.ts';
import type { ScalarType } from './ir/ir.ts';
import { applyFunctor, bindCaptures } from './map.ts';
import type { CaptureArguments } from './rows/row-fields.ts';

/** The columns that strips read and write, by name. */
export type StripState = { readonly [name: string]: Column };

/** A stored column for each column of the state of {@link forEachStrip}, by name. */
export type StripResult<S extends StripState> = {
  readonly [K in keyof S]: S[K] extends Column<infer T> ? Column<T> : never;
};

/** A pass of {@link forEachStrip} over all rows. */
export interface StripStep {
  /**
   * The number of rows of a strip, a whole number of at least 1; the last strip may be shorter. Without it, all rows are
   * one strip, which a single thread walks.
   */
  readonly rows?: number | undefined;
  /**
   * A functor without a result. Its parameters are, by name, `strip` (the number of the strip), `first` and `end` (its
   * rows are `first … end − 1`), all u32; columns of the state, each declared with `owned(…)`; and captures.
   */
  readonly each: FunctorDescription;
}

export interface StripOptions extends ContextOption {
  /** Columns and numbers for the `array(…)` and `uniform(…)` parameters of all functors, by name. */
  readonly captures?: CaptureArguments | undefined;
}

/**
 * Walks over strips of rows, reading and writing their rows in order. A strip owns its rows of every column of `state`:
 * what it writes, it reads again, and it sees nothing of the other strips. So strips run in parallel, and the result
 * depends on the number of rows of a strip but not on the device. Steps follow one another on the same memory: what one
 * step has written, the strips of the next read. A second step of longer strips can join what the first made, as the
 * labels at the borders of strips.
 *
 * A functor is given rows by their index in the whole column. A read of a row that the strip does not own gives 0
 * (false), and a write to it does nothing. To look at other rows, capture a column: captures show the values from before
 * the call. A column of the state may be captured too.
 *
 * - Work and span are those of the functors: n rows in strips of r rows, at constant cost for each row, are work O(n),
 *   span O(r). A thread walks a strip, so GPUs want many strips, CPUs want strips that fit the cache. Deterministic.
 * - `state` is copied, so its columns keep their values. Views are computed into the copy: starting from `constant(…)`
 *   costs only a fill. All columns have the same length, which may be a device count (a length that only the device
 *   knows). Without rows, no strip is run, and without steps, the result is a copy. Captured views are stored first.
 * - A strip must end within the time that the device allows for a kernel.
 * - Equivalent loop: `for (const { rows, each } of steps) for (let first = 0; first < n; first += rows)
 *   each({ strip: first / rows, first, end: Math.min(n, first + rows), ...copies, ...captures })`.
 *
 * Source: Henriksen and others, Futhark: Purely Functional GPU-programming with Nested Parallelism and In-place Array
 * Updates, 2017: a map over chunks, each of which is updated in place.
 *
 * @throws {@link ArgumentError} `strips/functor` if a functor has a result or takes what is none of the above,
 * `strips/rows` if `rows` is not a whole number from 1 to 2³² − 1, `strips/state` if `state` is not a record of columns.
 * @example
 * // The distance to the last set row before, at most to the start of a strip.
 * const since = fn({ first: u32, end: u32, isSet: array(bool), distance: owned(u32) }, {},
 *   ({ first, end, isSet, distance }) => {
 *     For(first, end, (i) => distance.set(i, select(distance.at(i.sub(1)).add(1), 0, isSet.at(i))));
 *   });
 * const isSet = ctx.column([true, false, false, true, false, false]);
 * const { distance } = forEachStrip({ distance: constant(u32, 0, 6) }, [{ rows: 3, each: since }],
 *   { captures: { isSet } });
 * await ctx.read(distance); // Uint32Array [0, 1, 2, 0, 1, 2]
 */
export function forEachStrip<S extends StripState>(
  state: S,
  steps: readonly StripStep[],
  options?: StripOptions,
): StripResult<S> {
  requireOptions('forEachStrip', OPTIONS, options);
  const columns = columnsOfState(state);
  requireArray('forEachStrip', 'steps', steps, 'an array of steps { rows, each }');
  for (const [i, step] of steps.entries()) requireStep(step, i, state);
  const captures = options?.captures ?? {};
  return inNamedContext('forEachStrip', options, () => {
    const context = requireContext([...columns, ...columnsIn(captures)], 'forEachStrip');
    const length = commonLength(columns, 'forEachStrip');
    return context.scope(() => {
      const copies = storeColumns(context, columns, length, 'forEachStrip');
      const names = Object.keys(state);
      const result = new Map(names.map((name, i) => [name, copies[i]!]));
      const written = storedCaptures(context, captures);
      for (const { rows, each } of steps) runStrips(context, length, rows ?? 2 ** 32 - 1, each, result, written);
      return Object.fromEntries(result) as StripResult<S>;
    });
  });
}

const OPTIONS: FieldKinds<StripOptions> = { captures: someRecord, context: anything };

function columnsOfState(state: StripState): Column[] {
  if (!isRecord(state)) throw wrongState('state', state);
  const strange = Object.entries(state).find(([, column]) => !(column instanceof Column));
  if (strange !== undefined) throw wrongState(`state.${strange[0]}`, strange[1]);
  return columnsOf(state, 'forEachStrip', 'state');
}

function wrongState(argument: string, given: unknown): ArgumentError {
  const expected = argument === 'state' ? 'a record of columns' : 'a column';
  return wrongArgument('forEachStrip', argument, given, expected, { code: 'strips/state' });
}

/** Values that a functor may take of its strip, besides owned columns and captures. */
const PLACES = ['strip', 'first', 'end'];

function requireStep(step: StripStep, number: number, state: StripState): void {
  const argument = `steps[${number}]`;
  requireRecord('forEachStrip', argument, step, '{ rows, each }');
  requireOptions<StripStep>('forEachStrip', { rows: anything, each: anything }, step, undefined, argument);
  const { rows = 1, each } = step;
  if (!Number.isInteger(rows) || rows < 1 || rows >= 2 ** 32) {
    throw wrongArgument('forEachStrip', `${argument}.rows`, rows, 'a whole number from 1 to 4294967295', {
      code: 'strips/rows',
    });
  }
  requireAnyFunctor('forEachStrip', `${argument}.each`, each);
  const { values, neighbours, owned } = splitParameters(each.parameters);
  const [around] = neighbours.keys();
  if (around !== undefined) throw wrongFunctor(each, 'no neighbours(…)', `${around}: neighbours(…)`);
  if (!isEmpty(each)) throw wrongFunctor(each, 'no result: {}', shapeText(each.result));
  for (const [name, shape] of Object.entries(values)) {
    const isPlace = PLACES.includes(name) && isScalar(shape) && shape.type === 'u32';
    if (!isPlace) throw wrongFunctor(each, 'strip, first and end, of u32', `${name}: ${shapeText(shape)}`);
  }
  for (const [name, type] of owned) {
    const column = Object.hasOwn(state, name) ? state[name] : undefined;
    const got = column === undefined ? `the columns ${Object.keys(state).join(', ')}` : `a column of ${column.type}`;
    if (column?.type !== type) throw wrongFunctor(each, `a column ${name} of ${type} in state`, got);
  }
}

function isEmpty({ result }: FunctorDescription): boolean {
  return !isScalar(result) && Object.keys(result).length === 0;
}

function wrongFunctor({ functorName }: FunctorDescription, expected: string, got: string): ArgumentError {
  return new ArgumentError('strips/functor', `Functor ${functorName} does not fit forEachStrip.`, {
    expected,
    got,
    remedy: 'Declare columns of the state with owned(…), captures with array(…) and uniform(…), and the result as {}.',
  });
}

/** The captures, with views replaced by stored copies, which all steps share. */
function storedCaptures(context: ColumnOwner, captures: CaptureArguments): CaptureArguments {
  const views = Object.entries(captures).filter(([, given]) => given instanceof Column && given.source.kind === 'view');
  return { ...captures, ...(context.materialize(Object.fromEntries(views) as StripState) as StripState) };
}

function runStrips(
  context: ColumnOwner,
  length: Column['length'],
  rows: number,
  each: FunctorDescription,
  columns: ReadonlyMap<string, Column>,
  captures: CaptureArguments,
): void {
  const { values, owned } = splitParameters(each.parameters);
  const bound = bindCaptures(each, captures, context);
  const own = [...owned.keys()].map((name): [string, Column] => [name, columns.get(name)!]);
  const captured = { ...bound, columns: new Map([...bound.columns, ...own]) };
  const types: readonly ScalarType[] = ['u32', 'u32'];
  const fusion = fuse(
    { name: each.functorName, kind: 'forEachStrip' },
    types,
    [],
    (strip, [first, end], loader) => {
      const places = { strip, first, end } as { readonly [name: string]: U32 };
      return applyFunctor(
        each,
        Object.keys(values).map((name) => places[name]!),
        captured,
        loader,
      );
    },
    { by: [forEachStrip, each], columns: [...captured.columns.values()], values: [...bound.uniforms.values()] },
  );
  context.backend.run({
    kind: 'strips',
    extent: extentOf(length),
    rows,
    program: programOf(fusion, context, length),
    owned: own.map(([, column]) => destination(column)),
  });
}
