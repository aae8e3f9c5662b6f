import type { Context } from '../primitives/context.ts';
import type { TableRun, TableSession } from './table.ts';
import { groupTally } from './table-answer.ts';
import type { TableOptions } from './table-arguments.ts';
import { PARTS_HELD, tableGraph } from './table-graph.ts';
import { rowsAtOnce, type TableOutputs, writeAnswer } from './table-outputs.ts';
import { type PartAnswer, partAsker } from './table-part.ts';
import { inOption, planOf } from './table-plan.ts';
import type { Question } from './table-question.ts';
import { chosenRows, topTally } from './table-rows.ts';

/** Maximum number of rows in a part. */
const MAX_ROWS = 2 ** 20;
const MIN_ROWS = 2 ** 10;
/**
 * Bytes of memory per cell of a part of the file: a cell is held as read, as integers for comparing, and on the device.
 */
const BYTES_PER_CELL = 24;

/** Checks the types in the query, and returns a session that can answer it. */
export function tableSession(context: Context, question: Question, options: TableOptions): TableSession {
  const plan = planOf(context, question);
  const { groups, columns, order, top } = question;
  const fields = groups === undefined ? columns : [...groups.keys, ...plan.outputs.map(({ field }) => field)];
  const max = rowsAtOnce(options);

  /** Returns the consumer of the answers. It writes rows part by part, and keeps aggregates until the end. */
  function takerOf(
    outputs: TableOutputs,
  ): Omit<TableRun, 'running'> & { take(answer: PartAnswer): Promise<void> | void } {
    if (groups === undefined && top === undefined) {
      const take = async (answer: PartAnswer): Promise<void> => {
        for (const rows of chosenRows(answer, columns, max)) if (outputs.isWanted()) await outputs.add(rows);
      };
      return { take, end: async () => undefined, groups: () => undefined };
    }
    const own = groups === undefined ? undefined : groupTally(question, plan, options.memoryBytes / 2);
    const tally = own ?? topTally(order!, top!, columns);
    return {
      take: (answer) => tally.add(answer),
      end: () => writeAnswer(tally.end(), outputs, max),
      groups: () => own?.size,
    };
  }

  return {
    fields,
    run(outputs, job, source) {
      const { take, ...taken } = takerOf(outputs);
      const ask = partAsker(context, question, plan);
      const names = [...question.fields.keys()];
      const rowsPerBatch = rowsWithin(options.memoryBytes / 2, names.length);
      // If no rows are written and the host adds up no values, only the device uses the data. In this case, integers
      // can be read as 32 bits.
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

/** Number of rows in a part of the file. It is chosen so that all parts that are in memory at the same time fit. */
function rowsWithin(memoryBytes: number, columns: number): number {
  const perRow = Math.max(1, columns) * BYTES_PER_CELL * PARTS_HELD;
  const max = 2 ** Math.floor(Math.log2(Math.max(1, memoryBytes / perRow)));
  return Math.min(MAX_ROWS, Math.max(MIN_ROWS, max));
}
