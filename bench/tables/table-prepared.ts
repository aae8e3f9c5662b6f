import * as t from '../../algorithms/tables/index.ts';
import type { Context } from '../../primitives/context/context.ts';
import { printHead } from '../shared/markdown-table.ts';
import { keepBusy, timesOf } from '../shared/measuring.ts';
import { tableOnDevice } from './table-columns.ts';
import { shown } from './table-times.ts';

const { column: c } = t;
const count = { n: { kind: 'count' } } as const;
const sum = { sum: { kind: 'sum', of: c('a') } } as const;
const middle = { median: { kind: 'median', of: c('a') } } as const;
const five = {
  ...{ ...count, ...sum },
  avg: { kind: 'avg', of: c('a') },
  min: { kind: 'min', of: c('a') },
  max: { kind: 'max', of: c('a') },
} as const;

/** Short queries. Some have a target time, in milliseconds on an H200. */
const questions: readonly (readonly [name: string, asked: t.Aggregates, bar?: number])[] = [
  ['count', count, 0.2],
  ['sum of a', sum, 0.2],
  ['sum, avg, min, max, count of a', five],
  ['median of a', middle, 0.6],
  ['median of f', { median: { kind: 'median', of: c('f') } }],
  ['count, sum and median of a', { ...count, ...sum, ...middle }],
];

/** Times short queries, prepared and unprepared. Every call compares the column `b` with a different constant. */
export async function measurePrepared(context: Context, rows: number, rounds: number, only: string): Promise<void> {
  const table = tableOnDevice(context, rows);
  printHead(
    'query where b < constant | prepared, ms: min (median) | unprepared, ms: min (median) | target on an H200, ms',
  );
  for (const [name, asked, bar] of questions.filter(([each]) => each.includes(only))) {
    const prepared = t.prepareAggregate(table, asked);
    let constant = 300_000;
    const where = (): t.Condition => t.lessThan(c('b'), constant++);
    const plain = () => t.aggregate(table, asked, { where: where() });
    const play = () => prepared(where());
    await keepBusy(play, 500);
    const played = await timesOf(play, { rounds: 20 * rounds, warmUps: 0 });
    await keepBusy(plain, 500);
    const asPlain = await timesOf(plain, { rounds: 20 * rounds, warmUps: 0 });
    console.log(`| ${name} | ${shown(played, 3)} | ${shown(asPlain, 3)} | ${bar ?? ''} |`);
    prepared.dispose();
  }
  t.disposeTable(table);
}
