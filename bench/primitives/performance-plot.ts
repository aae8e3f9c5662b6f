import { readFile, writeFile } from 'node:fs/promises';
import { drawPanels, type PanelPoint } from '../shared/panels.ts';

/**
 * Draws docs/performance.svg, the picture at the head of docs/performance.md, from the table of that page. The picture
 * shows, for columns of different lengths on an H200, the times of CUB and Thrust divided by the times of this library.
 *
 * node --import tsx bench/primitives/performance-plot.ts
 */
const PANELS = {
  'One kernel, or few': ['map', 'reduce', 'scan', 'copyIf', 'histogram of 256', 'reduceByKey, runs of 16'],
  'Moves, sorts and a chain': [
    'gather at random',
    'scatter at random',
    'sort',
    'sortByKey',
    'merge',
    'map, copyIf, sortByKey, reduceByKey, scan',
  ],
};
const SIZES = [2 ** 20, 2 ** 24, 2 ** 26, 2 ** 28];

const page = await readFile('docs/performance.md', 'utf8');
/** The rows of the table for the H200, which is the widest table of the page. */
const rows = new Map(
  page
    .split('\n')
    .map((line) => cellsOf(line))
    .filter(({ length }) => length === 13)
    .map((cells) => [cells[0], cells]),
);
const panels = Object.entries(PANELS).map(([title, names]) => ({
  title,
  unit: 'their time ÷ ours',
  axis: 'elements',
  scale: 'log' as const,
  ticks: SIZES,
  tickText: (size: number) => `2^${Math.log2(size)}`,
  points: names.flatMap(ratiosOf),
}));
await writeFile('docs/performance.svg', await drawPanels('CUB and Thrust beside Quadrille on an H200', panels));

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** The ratios of one primitive. After the name, its row has three cells for each size; the third is the ratio. */
function ratiosOf(name: string): PanelPoint[] {
  const cells = rows.get(name);
  if (cells === undefined) throw new Error(`docs/performance.md has no ratios of '${name}'.`);
  return SIZES.map((x, i) => ({ name, x, y: Number(cells[3 * (i + 1)]), line: 'solid' }));
}
