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

/** Rows that are asked at once, where memory allows. */
const MAX_ROWS = 2 ** 20;
const MIN_ROWS = 2 ** 10;
/** Bytes of a cell while it is on its way: as it was read, as it is compared, and on the device. */
const BYTES_PER_CELL = 24;

/** A question to a file, checked against the types of its columns. */
export function tableSession(context: Context, question: Question, options: TableOptions): TableSession {
  const plan = planOf(context, question);
  const { groups, columns, order, top } = question;
  const fields = groups === undefined ? columns : [...groups.keys, ...plan.outputs.map(({ field }) => field)];
  const most = rowsAtOnce(options);

  /** What becomes of answers: rows are written as they come, others are kept and written in the end. */
  function takerOf(
    outputs: TableOutputs,
  ): Omit<TableRun, 'running'> & { take(answer: PartAnswer): Promise<void> | void } {
    if (groups === undefined && top === undefined) {
      const take = async (answer: PartAnswer): Promise<void> => {
        for (const rows of chosenRows(answer, columns, most)) if (outputs.isWanted()) await outputs.add(rows);
      };
      return { take, end: async () => undefined, groups: () => undefined };
    }
    const own = groups === undefined ? undefined : groupTally(question, plan, options.memory / 2);
    const tally = own ?? topTally(order!, top!, columns);
    return {
      take: (answer) => tally.add(answer),
      end: () => writeAnswer(tally.end(), outputs, most),
      groups: () => own?.size,
    };
  }

  return {
    fields,
    run(outputs, job, source) {
      const { take, ...taken } = takerOf(outputs);
      const ask = partAsker(context, question, plan);
      const names = [...question.fields.keys()];
      const rowsPerBatch = rowsWithin(options.memory / 2, names.length);
      // Where neither rows are written nor values added up on the host, the device alone sees what was read.
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

/** As many rows as all parts on their way may have within the memory. */
function rowsWithin(memory: number, columns: number): number {
  const perRow = Math.max(1, columns) * BYTES_PER_CELL * PARTS_HELD;
  const most = 2 ** Math.floor(Math.log2(Math.max(1, memory / perRow)));
  return Math.min(MAX_ROWS, Math.max(MIN_ROWS, most));
}
