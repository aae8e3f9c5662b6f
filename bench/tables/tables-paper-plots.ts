import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { tableLines } from '../shared/markdown-table.ts';
import { drawPanels, type Panel } from '../shared/panels.ts';
import type { MeasuredLists, MeasuredTables } from './tables-paper-measured.ts';

/**
 * Makes the page `tables-paper.md` and its picture from one or more files written by `bench/tables/tables-paper.ts`.
 *
 * node --import tsx bench/tables/tables-paper-plots.ts [--docs docs] FILE…
 */
const { values: options, positionals: files } = parseArgs({
  options: { docs: { type: 'string', default: 'docs' } },
  allowPositionals: true,
});
if (files.length === 0) throw new Error('Name one or more files that bench/tables/tables-paper.ts wrote.');

const TITLE = 'Point lists: a scan beside histogram pyramids';
const SCAN = 'scan (copyIf)';

/** The paper's ratings of the gain by its GPU. */
const GAINS = { high: 'high', medium: 'medium', low: 'none' } as const;

const measured: MeasuredTables[] = [];
for (const file of files) measured.push(JSON.parse(await readFile(file, 'utf8')));
await writeFile(join(options.docs, 'tables-paper.svg'), await drawPanels(TITLE, measured.map(panelOf)));
await writeFile(join(options.docs, 'tables-paper.md'), `${page().join('\n')}\n`);

function panelOf({ label, cells, lists }: MeasuredTables): Panel {
  const points = lists.flatMap(({ active, milliseconds }) =>
    Object.entries(milliseconds).map(([name, y]) => ({ name, x: active, y, line: 'solid' as const })),
  );
  const ticks = [10, 1e3, 1e5, cells];
  return {
    title: `${label}, ${cells.toLocaleString('en')} cells`,
    unit: 'ms',
    axis: 'active cells',
    scale: 'log',
    ticks,
    points,
  };
}

function page(): string[] {
  return [
    '# The operations of the paper on databases, repeated',
    '',
    'Govindaraju, Lloyd, Wang, Lin and Manocha, Fast Computation of Database Operations using Graphics Processors, 2004, compared attributes by depth tests, counted by occlusion queries and found the k-th largest bit by bit. Ziegler, Tevs, Theobalt and Seidel, GPU Point List Generation through Histogram Pyramids, 2006, listed the active cells of a grid without writes to places of their choice. Here are the same operations as chains of primitives, over numbers that look random: the paper’s records of network traffic and of a census are not to be had.',
    '',
    'Times are the least of several calls that take turns, until the device is done, from columns on the device. Operations are prepared; what they are compared with is plain JavaScript on one thread of the same machine. Every answer is that of the plain loop.',
    '',
    ...measured.map(({ label, machine, date, commit }) => `- **${label}**: ${machine}; ${date}, commit ${commit}.`),
    '',
    'Written by `bench/tables/tables-paper-plots.ts` from what `bench/tables/tables-paper.ts` measured.',
    '',
    '## Operations',
    '',
    '**The paper** compared a GeForce FX 5900 Ultra with two Xeons of 2.8 GHz, on SIMD code of many threads, and sorted its operations by what was gained: much by predicates, ranges, several attributes, semi-linear queries and counts, less by the k-th largest, and nothing by sums. A pass over a million records took 0.278 ms, so that 19 bits of the k-th largest should take 5.28 ms; it took 6.6.',
    '',
    ...measured.flatMap(operationLines),
    'The k-th largest bit by bit waits for the host after every count. By digits, a histogram learns up to 11 bits a pass, on the device. The plain program sorts.',
    '',
    '## Point lists',
    '',
    `![${TITLE}](tables-paper.svg)`,
    '',
    '**The paper:** a highly sparse matrix of N elements becomes a list of its M active ones in O(N) + M (log N) steps. Its GPUs could read anywhere, but not write: each output looks for its cell from the top of the pyramid.',
    '',
    ...measured.flatMap(listLines),
    'The pyramid is built by a launch a level, and stores a third as many counts as there are cells. The scan reads the cells once and writes the list; it has no log N, and one launch. In one dimension four cells side by side are a group, and the list ascends as that of copyIf; in two dimensions it is in the order of a quadtree.',
  ];
}

function operationLines({ label, records, operations }: MeasuredTables): string[] {
  return [
    `**Here**, ${label}, ${records.toLocaleString('en')} records:`,
    '',
    ...tableLines([
      ['operation', 'gain in the paper', 'ms', 'plain, ms', 'times as fast'],
      ...operations.map(({ name, group, milliseconds, plain }) => [
        ...[name, GAINS[group], milliseconds.toFixed(2), plain.toFixed(2), (plain / milliseconds).toFixed(1)],
      ]),
    ]),
    '',
  ];
}

function listLines({ label, cells, lists }: MeasuredTables): string[] {
  const ways = Object.keys(lists[0]!.milliseconds);
  const lost = lists.map((each) => Math.min(...pyramids(each)) / each.milliseconds[SCAN]!);
  const times = (value: number): string => `${value.toFixed(1)} times`;
  return [
    `**Here**, ${label}: the better pyramid takes ${times(lost[0]!)} as long as the scan where all ${cells.toLocaleString('en')} cells are active, ${times(lost.at(-1)!)} where ${lists.at(-1)!.active} are, and ${times(Math.min(...lost))} at best. Milliseconds:`,
    '',
    ...tableLines([
      ['active', ...ways, 'better pyramid by the scan'],
      ...lists.map(({ active, milliseconds }, i) => [
        active.toLocaleString('en'),
        ...ways.map((way) => milliseconds[way]!.toFixed(2)),
        lost[i]!.toFixed(1),
      ]),
    ]),
    '',
  ];
}

function pyramids({ milliseconds }: MeasuredLists): number[] {
  return Object.entries(milliseconds).flatMap(([way, each]) => (way.startsWith('pyramid') ? [each] : []));
}
