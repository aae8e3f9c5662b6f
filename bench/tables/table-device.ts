import { atOnce } from '../../algorithms/stretches.ts';
import { truthOf } from '../../algorithms/tables/conditions.ts';
import * as t from '../../algorithms/tables/index.ts';
import { preparePipeline } from '../../algorithms/tables/prepared-aggregate.ts';
import type { Context } from '../../primitives/context/context.ts';
import { printHead } from '../shared/markdown-table.ts';
import { keepBusy, timesOf } from '../shared/measuring.ts';
import { tableOnDevice } from './table-columns.ts';
import { type Question, questions } from './table-questions.ts';
import { shown } from './table-times.ts';

/** Target times in milliseconds for queries over 2^28 rows on an H200, by the device's clock. */
const BARS: { readonly [name: string]: number } = {
  'count where a < c': 0.3,
  'normal form over 4 columns': 1.3,
  'semi-linear over 4 columns': 1.3,
  'sum, avg, min, max, count of a': 0.4,
  'sum, avg, min, max, count of f': 0.4,
  'median of a': 2,
  'median of a where b < c': 2.5,
  'ids of a tenth': 0.6,
};

/**
 * Times queries over a table made on the device: by the device's own clock, if it has one, and until the caller has the
 * answer.
 */
export async function measureOnDevice(context: Context, rows: number, rounds: number, only: string): Promise<void> {
  const table = tableOnDevice(context, rows);
  const isPossible = ({ table: of, name }: Question): boolean =>
    of === 'numbers' && !name.includes('nulls') && name.includes(only);
  printHead('query | device, ms: min (median) | target on an H200, ms | until the answer, ms: min (median)');
  for (const question of questions.filter(isPossible)) {
    const ask = () => question.ask(table);
    await keepBusy(ask, 500);
    const onDevice = await deviceTimes(table, question, rounds);
    const seen = await timesOf(ask, { rounds, warmUps: 0 });
    const taken = onDevice === undefined ? '–' : shown(onDevice, 3);
    console.log(`| ${question.name} | ${taken} | ${BARS[question.name] ?? ''} | ${shown(seen, 3)} |`);
  }
  t.disposeTable(table);
}

/** Runs the commands of a query without waiting for results, and frees the results. `dispose` frees its pipeline. */
type Launch = (() => void) & { dispose?: () => void };

/**
 * Times consecutive runs of a query by the device's clock. Returns undefined if the device has no clock, or if
 * `launchOf` cannot run the query without a wait on the host.
 */
async function deviceTimes(
  table: t.DeviceTable,
  question: Question,
  rounds: number,
): Promise<readonly number[] | undefined> {
  const { backend } = table.context as unknown as {
    backend: { time?: (groups: readonly (() => void)[]) => Promise<readonly number[]> };
  };
  const launch = launchOf(table, question);
  if (backend.time === undefined || launch === undefined) return undefined;
  const calls = Array.from({ length: rounds }, () => launch);
  await backend.time(calls);
  const taken = await backend.time(calls);
  launch.dispose?.();
  // The time of the first run is dropped, because it includes the time that the device waits for the host.
  return taken.slice(1);
}

function launchOf(table: t.DeviceTable, { name, asked }: Question): Launch | undefined {
  const { context } = table;
  if (name === 'ids of a tenth') {
    return () => {
      const selection = t.selectRows(table, t.lessThan(t.column('a'), 100_000));
      context.dispose(selection.words, t.selectedIds(selection));
    };
  }
  if (asked === undefined) return undefined;
  const chosen = asked.where && atOnce(truthOf(table, asked.where));
  const { run } = preparePipeline(table, asked.aggregates, chosen);
  const constants = (chosen?.constants ?? []).map(({ value }, i): [string, number] => [`c${i}`, value as number]);
  const launch: Launch = () => context.dispose(run!(Object.fromEntries(constants)));
  launch.dispose = () => run?.dispose();
  return launch;
}
