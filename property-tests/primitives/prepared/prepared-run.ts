import { QuadrilleError } from '../../../primitives/checks/errors.ts';
import type { Column, Table } from '../../../primitives/columns/column.ts';
import { type Grid, gridText } from '../../../primitives/columns/grid.ts';
import { encode, type HostArray } from '../../../primitives/columns/host-array.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { bool, f32, i32, input, type PreparedInputs, type Shape, u32 } from '../../../primitives/index.ts';
import { assertSameBytes, type HostTable } from '../../laws/compare.ts';
import type { LawRun } from '../../laws/law.ts';

/**
 * Number of pipelines of laws that were prepared, and for each error code the number of pipelines that were refused
 * with it.
 */
export interface Tally {
  prepared: number;
  readonly refused: Map<string, number>;
}

/**
 * Codes of acceptable refusals. The pipeline waits for a result, branches on a length, or needs a length on the host, such
 * as that of a grid.
 */
const REFUSALS = ['prepare/waits', 'prepare/decision', 'prepare/written', 'column/length', 'grid/cells'];

/** An array that a pipeline uploads, and its shape if it has one. */
interface Upload {
  readonly array: HostArray;
  readonly grid: Grid | undefined;
}

/** Uploads of one length and shape are columns of one input. */
function inputOf({ array, grid }: Upload): string {
  return `${array.length} ${grid === undefined ? '' : gridText(grid)}`;
}

/**
 * Makes a {@link LawRun} that also prepares every pipeline. The uploads of the pipeline become inputs. The run calls
 * the prepared pipeline once without rows, and twice with the rows of the law. The results must have the same bytes as
 * without preparation.
 */
export function createPreparedRun(context: Context, tally: Tally): LawRun {
  return async (pipeline) => {
    const uploads: Upload[] = [];
    const result = context.scope(() => context.materialize(pipeline(uploading(context, uploads))));
    const host = (await context.read(result)) as HostTable;
    context.dispose(result);
    try {
      await comparePrepared(context, pipeline, uploads, host);
      tally.prepared++;
    } catch (error) {
      if (!(error instanceof QuadrilleError && REFUSALS.includes(error.code))) throw error;
      tally.refused.set(error.code, (tally.refused.get(error.code) ?? 0) + 1);
    }
    return host as never;
  };
}

async function comparePrepared<C extends Table>(
  context: Context,
  pipeline: (context: Context) => C,
  uploads: readonly Upload[],
  expected: HostTable,
): Promise<void> {
  const before = heldBy(context);
  const kinds = [...new Set(uploads.map(inputOf))];
  const groups = kinds.map((kind) => uploads.filter((upload) => inputOf(upload) === kind));
  const inputs = Object.fromEntries(groups.map((group, k) => [`t${k}`, declare(group)]));
  const prepared = context.prepare(inputs as PreparedInputs, (args) => {
    const given = args as unknown as { readonly [name: string]: { readonly [name: string]: Column } };
    const next = kinds.map(() => 0);
    const column = (array: HostArray, grid?: Grid): Column => {
      const k = kinds.indexOf(inputOf({ array, grid }));
      return given[`t${k}`]![`c${next[k]!++}`]!;
    };
    return pipeline(withColumn(context, column)) as Table;
  });
  const call = (columnOf: (upload: Upload) => Column): Table => {
    const args = groups.map((group, k) => [
      `t${k}`,
      Object.fromEntries(group.map((upload, i) => [`c${i}`, columnOf(upload)])),
    ]);
    return prepared(Object.fromEntries(args) as never);
  };
  // A grid has all of its cells in every call.
  const empty = context.scope(() =>
    call(({ array, grid }) => context.column(grid === undefined ? (array.slice(0, 0) as HostArray) : array, grid)),
  );
  for (let i = 0; i < 2; i++) {
    const made = context.scope(() => call(({ array, grid }) => context.column(array, grid)));
    assertSameBytes((await context.read(made)) as HostTable, expected, `prepared, call ${i}`);
    context.dispose(made);
  }
  context.dispose(empty);
  prepared.dispose();
  const after = heldBy(context);
  if (before !== after) throw new Error(`A prepared pipeline left memory behind: ${before} before, ${after} after`);
}

const SCALARS = { u32, i32, f32, bool };

function declare(group: readonly Upload[]): unknown {
  const encoded = group.map(({ array }) => encode(array));
  const shape = Object.fromEntries(encoded.map(({ type }, i) => [`c${i}`, SCALARS[type]]));
  const packed = encoded.flatMap(({ storage }, i) => (/8|16/.test(storage) ? [[`c${i}`, storage]] : []));
  const [{ array, grid }] = group as [Upload];
  return input(shape as Shape, grid ?? array.length, { storage: Object.fromEntries(packed) });
}

/** Wraps a context so that its `column` method is replaced by `column`. */
function withColumn(context: Context, column: (array: HostArray, grid?: Grid) => Column): Context {
  return new Proxy(context, {
    get(target, name) {
      if (name === 'column') return column;
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function uploading(context: Context, uploads: Upload[]): Context {
  return withColumn(context, (array, grid) => {
    uploads.push({ array, grid });
    return context.column(array, grid);
  });
}

function heldBy({ backend: { counters } }: Context): string {
  return `${counters.liveBuffers} buffers of ${counters.liveBytes} bytes`;
}
