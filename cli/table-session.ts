import type { Context } from '../primitives/context/context.ts';
import type { TableRun, TableSession } from './table.ts';
import { groupTally } from './table-answer.ts';
import type { TableOptions } from './table-arguments.ts';
import { PARTS_HELD, tableGraph } from './table-graph.ts';
import { rowsAtOnce, type TableOutputs } from './table-outputs.ts';
import { type PartAnswer, partAsker } from './table-part.ts';
import { inOption, planOf } from './table-plan.ts';
import type { Question } from './table-question.ts';
import { chosenRows, topTally } from './table-rows.ts';

/** Maximum number of rows in a part of the file. */
const MAX_ROWS = 2 ** 20;
const MIN_ROWS = 2 ** 10;
/**
 * Bytes of memory per cell of a part of the file. Each cell is in memory three times: as read from the file, converted
 * to integers for comparisons, and on the device.
 */
const BYTES_PER_CELL = 24;

/** Checks the types in the query, and returns a session that can answer it. */
export async function tableSession(context: Context, question: Question, options: TableOptions): Promise<TableSession> {
  const plan = await planOf(context, question);
  const { groups, columns, order, limit } = question;
  const fields = groups === undefined ? columns : [...groups.keys, ...plan.outputs.map(({ field }) => field)];
  const max = rowsAtOnce(options);

  /**
   * Returns the consumer of the answers to the parts. The consumer writes rows part by part. Aggregates, and the rows
   * of `--order-by`, are kept until the end.
   */
  function takerOf(
    outputs: TableOutputs,
  ): Omit<TableRun, 'running'> & { take(answer: PartAnswer): Promise<void> | void } {
    if (groups === undefined && order === undefined) {
      let left = limit ?? Number.POSITIVE_INFINITY;
      const take = async ({ rows, ids, columns: all }: PartAnswer): Promise<void> => {
        const first = { rows: Math.min(rows, left), ids: ids?.subarray(0, left), columns: all };
        for (const some of chosenRows(first, columns, max)) {
          if (!outputs.isWanted()) return;
          left -= some.rows;
          await outputs.add(some);
        }
      };
      return { take, end: async () => undefined, groups: () => undefined, isDone: () => left === 0 };
    }
    const own = groups === undefined ? undefined : groupTally(question, plan, options.memoryBytes / 2);
    const tally = own ?? topTally(order!, limit!, columns);
    return {
      take: (answer) => tally.add(answer),
      async end() {
        const answer = { ...tally.end(), ids: undefined };
        for (const rows of chosenRows(answer, answer.fields, max)) await outputs.add(rows);
      },
      groups: () => own?.size,
      isDone: () => false,
    };
  }

  return {
    fields,
    run(outputs, job, source) {
      const { take, ...taken } = takerOf(outputs);
      const ask = partAsker(context, question, plan);
      const names = [...question.fields.keys()];
      const rowsPerBatch = rowsWithin(options.memoryBytes / 2, names.length);
      // If no rows are written and the host adds up no floats, the original types of integers are not needed. In this
      // case, 64-bit integers are read as 32-bit integers if they fit.
      const narrow = groups !== undefined && plan.reals.length === 0;
      const running = tableGraph({
        ...job,
        batches: (signal) => source({ columns: names, rowsPerBatch, signal, narrow }),
        ask: (batch) =>
          ask(batch).catch((error: unknown) => {
            throw inOption(undefined, error);
          }),
        take,
      });
      return { running, ...taken };
    },
  };
}

/**
 * Number of rows in a part of the file. It is chosen so that `PARTS_HELD` parts together fit in `memoryBytes`, but it
 * is at least `MIN_ROWS`.
 */
function rowsWithin(memoryBytes: number, columns: number): number {
  const perRow = Math.max(1, columns) * BYTES_PER_CELL * PARTS_HELD;
  const max = 2 ** Math.floor(Math.log2(Math.max(1, memoryBytes / perRow)));
  return Math.min(MAX_ROWS, Math.max(MIN_ROWS, max));
}
