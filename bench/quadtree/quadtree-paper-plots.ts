import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { tableLines } from '../shared/markdown-table.ts';
import { drawPanels } from '../shared/panels.ts';
import type { Measured } from './quadtree-experiment.ts';
import { FIGURES, type Point, pointsOf } from './quadtree-paper-figures.ts';

/**
 * Draws figures from one or more files of measurements written by `bench/quadtree/quadtree-paper.ts`, and the page that
 * shows them, `quadtree-paper.md`; figures without measurements are omitted.
 *
 * node --import tsx bench/quadtree/quadtree-paper-plots.ts [--docs docs] FILE…
 */
const { values: options, positionals: files } = parseArgs({
  options: { docs: { type: 'string', default: 'docs' } },
  allowPositionals: true,
});
if (files.length === 0) throw new Error('Name one or more files that bench/quadtree/quadtree-paper.ts wrote.');
const measured: Measured[] = [];
for (const file of files) measured.push(JSON.parse(await readFile(file, 'utf8')));
const points = pointsOf(measured);
const sections = await Promise.all(FIGURES.map((figure) => sectionOf(figure, points)));
await writeFile(join(options.docs, 'quadtree-paper.md'), [...introduction(), ...sections.flat()].join('\n'));

async function sectionOf(figure: (typeof FIGURES)[number], all: readonly Point[]): Promise<string[]> {
  const panels = figure.panels(all).filter((panel) => panel.points.length > 0);
  if (panels.length === 0) return [];
  const file = `quadtree-paper-${figure.file}.svg`;
  await writeFile(join(options.docs, file), await drawPanels(figure.title, panels));
  return [
    `## Figure ${figure.number}`,
    '',
    `![${figure.title}](${file})`,
    '',
    `**The paper:** ${figure.paper}`,
    '',
    `**Here:** ${figure.ours(all)}`,
    '',
  ];
}

/** What was measured, where and on which data, with the groups of Table 1. */
function introduction(): string[] {
  return [
    '# The experiments of the quadtree paper, repeated',
    '',
    'Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon Data on GPUs, 2014, measured theirs on 708,509 polygons of bird ranges, which are not to be had freely. Here are open data, in the same groups by vertices.',
    '',
    'A passage is an edge that passes through a quadrant: `decompose` looks at these alone. The paper tests each quadrant against its whole polygon, as `decomposeWhole` does, and compares that with PixelBox*, a stack for each polygon, as `decomposeDepthFirst` has it. One thread is plain JavaScript over typed arrays (`bench/quadtree/serial-quadrants.ts`, `bench/quadtree/maq-builder.ts`), which finds as many quadrants, nodes and pairs. Times are medians, from data in the memory of the host to quadrants or trees on the device, and from windows and trees on the device to pairs there. What is missing would have taken longer than was allowed.',
    '',
    ...measured.flatMap(({ label, machine, date, commit, source }) => [
      `- **${label}**: ${machine}; \`${source}\`, every part of a multipolygon one polygon; ${date}, commit ${commit}.`,
    ]),
    '',
    ...tableOf(measured),
    'Written by `bench/quadtree/quadtree-paper-plots.ts` from what `bench/quadtree/quadtree-paper.ts` measured.',
    '',
  ];
}

function tableOf(all: readonly Measured[]): string[] {
  const bySource = new Map(all.map(({ source, groups }) => [source, groups]));
  return [...bySource].flatMap(([source, groups]) => [
    '## Table 1',
    '',
    `Polygons of \`${source}\`:`,
    '',
    ...tableLines([
      ['vertices of a polygon', 'polygons', 'vertices'],
      ...groups.map(({ name, polygons, vertices }) => [
        name,
        polygons.toLocaleString('en'),
        vertices.toLocaleString('en'),
      ]),
    ]),
    '',
  ]);
}
