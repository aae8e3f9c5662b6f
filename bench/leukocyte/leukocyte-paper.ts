import { writeFile } from 'node:fs/promises';
import { printHead } from '../shared/markdown-table.ts';
import { measuredOn } from '../shared/measured.ts';
import { machine } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, nameOf, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { cellVideo } from './cell-video.ts';
import { detectionLadder } from './leukocyte-detection.ts';
import { fieldsLadder } from './leukocyte-fields.ts';
import { type MeasuredLadder, measureLadder } from './leukocyte-ladder.ts';
import { givenCells } from './tracked-cells.ts';

/**
 * Repeats the study of Boyer, Tarjan, Acton and Skadron, Accelerating Leukocyte Tracking using CUDA, 2009: the
 * detection and the fields for tracking are optimized step by step, from one launch for every small task to the shipped
 * version. The steps are our own, and the video is generated (640 × 480 pixels). Every step must give the same bytes as
 * plain JavaScript on one thread. `bench/leukocyte/leukocyte-paper-plots.ts` draws the results.
 *
 * node --import tsx bench/leukocyte/leukocyte-paper.ts [--backend workers|webgpu] [--adapter hardware|software] [--workers 2]
 *   [--rounds 15] [--cells 36] [--amplitude 10] [--seed 1] [--only detection,fields] [--label 'machine'] [--out FILE]
 */
const options = programOptions({
  ...BACKEND_OPTIONS,
  ...{ rounds: 15, cells: 36, amplitude: 10, seed: 1 },
  ...{ only: 'detection,fields', label: undefined, out: undefined },
});
const { seed, cells, amplitude } = options;
const drawing = { seed, cells, amplitude };
await using context = await openNamed(options);
console.log(`${machine()}; ${context.backend.name}, ${drawing.cells} cells, medians of up to ${options.rounds}`);

const ladders: Record<string, MeasuredLadder> = {};
for (const name of options.only.split(',')) {
  const ladder =
    name === 'detection'
      ? detectionLadder(context, [...cellVideo({ ...drawing, frames: 1 })][0]!.frame)
      : await fieldsLadder(context, givenCells(drawing));
  ladders[name] = await measureLadder(context, ladder, options.rounds);
  print(name, ladders[name]);
}
if (options.out !== undefined) {
  const measured = {
    ...(await measuredOn(options.label ?? nameOf(options, context))),
    ladders,
  };
  await writeFile(options.out, `${JSON.stringify(measured, undefined, 2)}\n`);
}

function print(name: string, { plainMilliseconds, steps }: MeasuredLadder): void {
  console.log(`\n${name}: plain JavaScript on one thread ${plainMilliseconds.toFixed(1)} ms\n`);
  printHead('step | ms | launches | times as fast as plain JavaScript');
  for (const { name, milliseconds, launches, speedup } of steps) {
    console.log(`| ${name} | ${milliseconds.toFixed(1)} | ${launches} | ${speedup.toFixed(2)} |`);
  }
}
