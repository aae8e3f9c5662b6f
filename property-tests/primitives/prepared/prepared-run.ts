import { QuadrilleError } from '../../../primitives/checks/errors.ts';
import type { Column, Table } from '../../../primitives/columns/column.ts';
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
 * Codes of acceptable refusals. The pipeline waits for a result, branches on a length, or needs a length on the host.
 */
const REFUSALS = ['prepare/waits', 'prepare/decision', 'prepare/written', 'column/length'];

/**
 * Makes a {@link LawRun} that also prepares every pipeline. The uploads of the pipeline become inputs. The run calls
 * the prepared pipeline once without rows, and twice with the rows of the law. The results must have the same bytes as
 * without preparation.
 */
export function createPreparedRun(context: Context, tally: Tally): LawRun {
  return async (pipeline) => {
    const uploads: HostArray[] = [];
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
  uploads: readonly HostArray[],
  expected: HostTable,
): Promise<void> {
  const before = heldBy(context);
  const lengths = [...new Set(uploads.map(({ length }) => length))];
  const groups = lengths.map((length) => uploads.filter((array) => array.length === length));
  const inputs = Object.fromEntries(groups.map((arrays, k) => [`t${k}`, declare(arrays, lengths[k]!)]));
  const prepared = context.prepare(inputs as PreparedInputs, (args) => {
    const given = args as unknown as { readonly [name: string]: { readonly [name: string]: Column } };
    const next = lengths.map(() => 0);
    const column = (array: HostArray): Column => {
      const k = lengths.indexOf(array.length);
      return given[`t${k}`]![`c${next[k]!++}`]!;
    };
    return pipeline(withColumn(context, column)) as Table;
  });
  const call = (columnOf: (array: HostArray) => Column): Table => {
    const args = groups.map((arrays, k) => [
      `t${k}`,
      Object.fromEntries(arrays.map((array, i) => [`c${i}`, columnOf(array)])),
    ]);
    return prepared(Object.fromEntries(args) as never);
  };
  const empty = context.scope(() => call((array) => context.column(array.slice(0, 0) as HostArray)));
  for (let i = 0; i < 2; i++) {
    const made = context.scope(() => call((array) => context.column(array)));
    assertSameBytes((await context.read(made)) as HostTable, expected, `prepared, call ${i}`);
    context.dispose(made);
  }
  context.dispose(empty);
  prepared.dispose();
  const after = heldBy(context);
  if (before !== after) throw new Error(`A prepared pipeline left memory behind: ${before} before, ${after} after`);
}

const SCALARS = { u32, i32, f32, bool };

function declare(arrays: readonly HostArray[], capacity: number): unknown {
  const encoded = arrays.map((array) => encode(array));
  const shape = Object.fromEntries(encoded.map(({ type }, i) => [`c${i}`, SCALARS[type]]));
  const packed = encoded.flatMap(({ storage }, i) => (/8|16/.test(storage) ? [[`c${i}`, storage]] : []));
  return input(shape as Shape, capacity, { storage: Object.fromEntries(packed) });
}

/** Wraps a context so that its `column` method is replaced by `column`. */
function withColumn(context: Context, column: (array: HostArray) => Column): Context {
  return new Proxy(context, {
    get(target, name) {
      if (name === 'column') return column;
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function uploading(context: Context, uploads: HostArray[]): Context {
  return withColumn(context, (array) => {
    uploads.push(array);
    return context.column(array);
  });
}

function heldBy({ backend: { counters } }: Context): string {
  return `${counters.liveBuffers} buffers of ${counters.liveBytes} bytes`;
}
