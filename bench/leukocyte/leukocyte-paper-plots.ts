import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tableLines } from '../shared/markdown-table.ts';
import { drawPanels, type Panel } from '../shared/panels.ts';
import { programWords } from '../shared/program-options.ts';
import type { MeasuredLadder } from './leukocyte-ladder.ts';

/**
 * Writes the page `leukocyte-paper.md` and its picture, from one or more files written by
 * `bench/leukocyte/leukocyte-paper.ts`.
 *
 * node --import tsx bench/leukocyte/leukocyte-paper-plots.ts [--docs docs] FILE…
 */
const { options, positionals: files } = programWords({ docs: 'docs' });
if (files.length === 0) throw new Error('Name one or more files that bench/leukocyte/leukocyte-paper.ts wrote.');

interface Measured {
  readonly label: string;
  readonly machine: string;
  readonly date: string;
  readonly commit: string;
  readonly ladders: { readonly [name: string]: MeasuredLadder };
}

interface Stage {
  readonly key: string;
  readonly title: string;
  readonly note: string;
  /** The paper's steps, each with its speedup over the paper's C code on one thread. */
  readonly paper: readonly (readonly [name: string, speedup: number])[];
}

/** Numbers from the paper's text, for a GeForce GTX 280 and for OpenMP on a Core 2 Extreme with four cores. */
const STAGES: readonly Stage[] = [
  {
    key: 'detection',
    title: 'Detection',
    note: 'Slopes are packed once in every step. Steps 1 to 3 use all samples; from step 4 on, half of them often suffice. This, and ending the dilation at a greater score, saves work that plain JavaScript and the paper do.',
    paper: [
      ['OpenMP, 4 threads', 3.1],
      ['naive: two kernels', 5.9],
      ['constant memory', 6.8],
      ['texture memory', 7.8],
      ['arrays in column-major order', 21.7],
      ['variance in one pass', 29.7],
    ],
  },
  {
    key: 'fields',
    title: 'Tracking: the fields',
    note: 'In plain code, the fields take nearly all of the time of tracking; the paper’s figures are for tracking as a whole. Windows are cut before the measurement starts. Step 1 corresponds to the paper’s naive version, step 2 to its larger kernel, step 3 to its full reduction, and step 5 to its persistent thread block. Step 4 runs the maximum of 500 rounds, because the host does not learn which round is the last; a field takes 166 rounds on average.',
    paper: [
      ['OpenMP, 4 threads', 3.8],
      ['naive: a kernel for every neighbour', 1 / 2.6],
      ['larger kernel', 3.1],
      ['reduced allocation', 12.6],
      ['partial reduction', 20.3],
      ['full reduction, two kernels', 26.9],
      ['full reduction, one kernel', 30.2],
      ['persistent thread block', 105.2],
    ],
  },
];

const measured: Measured[] = [];
for (const file of files) measured.push(JSON.parse(await readFile(file, 'utf8')));
await writeFile(join(options.docs, 'leukocyte-paper.svg'), await drawPanels(titleOf(), STAGES.flatMap(panelsOf)));
await writeFile(join(options.docs, 'leukocyte-paper.md'), `${page().join('\n')}\n`);

function titleOf(): string {
  return 'Times as fast as one thread, step by step';
}

function panelsOf({ key, title, paper }: Stage): Panel[] {
  const ours = measured.flatMap(({ label, ladders }) =>
    (ladders[key]?.steps ?? []).map(({ speedup }, i) => ({
      name: label,
      x: i + 1,
      y: speedup,
      line: 'solid' as const,
    })),
  );
  const theirs = paper.map(([, speedup], i) => ({
    ...{ name: 'the paper, GTX 280', x: i, y: speedup },
    ...(i === 0 ? { name: 'the paper, OpenMP on 4 cores' } : { line: 'solid' as const }),
  }));
  return [panel(`${title}, the paper`, theirs), panel(`${title}, here`, ours)];
}

function panel(title: string, points: Panel['points']): Panel {
  const ticks = [...new Set(points.map(({ x }) => x))];
  return { title, unit: 'times as fast as one thread', axis: 'step of the table', scale: 'linear', ticks, points };
}

function page(): string[] {
  return [
    '# The ladders of the leukocyte paper, repeated',
    '',
    'Boyer, Tarjan, Acton and Skadron, Accelerating Leukocyte Tracking using CUDA, 2009, brought detection and tracking of leukocytes to a GPU step by step. This page measures the corresponding steps in this library, from one launch for every small task to the shipped version. The paper’s speedups are relative to its C code on one thread of a Core 2 Extreme X9770 at 3.2 GHz. The speedups here are relative to plain JavaScript over typed arrays, on one thread of the same machine, with the same rounding. The two are therefore not directly comparable.',
    '',
    'The input is a generated video of 640 × 480 pixels with 36 cells. Times are medians, from columns on the device to results on the device. Every step gave the same bytes as plain JavaScript. Launches are counted by the backend; workers combine commands that need no barrier between them into one launch.',
    '',
    ...measured.map(({ label, machine, date, commit }) => `- **${label}**: ${machine}; ${date}, commit ${commit}.`),
    '',
    `![${titleOf()}](leukocyte-paper.svg)`,
    '',
    'Generated by `bench/leukocyte/leukocyte-paper-plots.ts` from the measurements of `bench/leukocyte/leukocyte-paper.ts`.',
    '',
    ...STAGES.flatMap(sectionOf),
    ...whole(),
  ];
}

function sectionOf(stage: Stage): string[] {
  const { key, title, note, paper } = stage;
  return [
    `## ${title}`,
    '',
    ...measured.flatMap(({ label, ladders }) => (ladders[key] === undefined ? [] : ladderLines(label, ladders[key]))),
    note,
    '',
    '**The paper**, times as fast as its C code on one thread:',
    '',
    ...tableLines([
      ['step', 'what', 'times as fast'],
      ...paper.map(([name, speedup], i) => [i === 0 ? '–' : String(i), name, shortest(speedup)]),
    ]),
    '',
  ];
}

function ladderLines(label: string, { plainMilliseconds, steps }: MeasuredLadder): string[] {
  return [
    `**Here**, ${label}; plain JavaScript on one thread takes ${shortest(plainMilliseconds)} ms:`,
    '',
    ...tableLines([
      ['step', 'what', 'ms', 'launches', 'times as fast'],
      ...steps.map(({ name, milliseconds, launches, speedup }, i) => [
        ...[String(i + 1), name, shortest(milliseconds)],
        ...[launches.toLocaleString('en'), shortest(speedup)],
      ]),
    ]),
    '',
  ];
}

/** The page's section with results of other benchmarks: the shipped version on an H200, and whole frames. */
function whole(): string[] {
  return [
    '## The shipped version on an H200, and whole frames',
    '',
    'Measured by `bench/leukocyte/cell-detection.ts`, `bench/leukocyte/cell-tracking-step.ts` and `bench/leukocyte/track-cells.ts` on 2026-11-24 and 25, with prepared pipelines, on an NVIDIA H200 (driver 580.159.04) and on two workers on two cores of an otherwise idle EPYC. In the table above, the fields take twice as long because the machine was busy (load 2.9): the two workers waited for cores, while the one thread of plain JavaScript had a core to itself. The steps on the H200 are in [the results](../bench/results/2026-11-25-cell-tracking.md).',
    '',
    ...tableLines([
      ['what', 'H200', '2 workers'],
      ['detection, device time or wait', '0.433 ms', '11.5 ms'],
      ['of that slopes and all scores', '0.386 ms', '–'],
      ['fields of 36 cells in one launch', '0.34 ms', '11.9 ms'],
      ['the same in plain JavaScript, one thread', '1,280 to 1,641 ms (Xeon)', '–'],
      ['a frame of tracking with upload and read', '0.81 ms', '16.4 ms'],
      ['frames a second, after some hundred', '1,232', '61'],
    ]),
    '',
    'Tracking a frame takes 12 launches and allocates nothing. The H200 computes the fields more than 3,000 times as fast as plain JavaScript on one thread of its host. The paper’s detection and tracking together were 80.8 times as fast as its C code, at more than twenty frames per second.',
  ];
}

function shortest(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(value < 1 ? 2 : 1);
}
