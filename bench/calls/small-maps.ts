// Microseconds of processor time for a small map that is stored and disposed of, in a loop, and for making and disposing
// of a column. With --against, the same of another checkout of this repository, in turns in one process.
//
// node --import tsx bench/calls/small-maps.ts [--against FOLDER] [--rounds 15]
import { resolve } from 'node:path';
import { printHead } from '../shared/markdown-table.ts';
import { inTurns, spreadOf } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';

const { against, rounds } = programOptions({ against: '', rounds: 15 });
const CALLS = 2000;
const folders = [resolve(import.meta.dirname, '../..'), ...(against === '' ? [] : [against])];

printHead('backend | work | checkout | median µs | min | max');
for (const backend of ['reference', 'workers'] as const) {
  const works: { [name: string]: () => Promise<void> } = {};
  const closing: (() => Promise<void>)[] = [];
  for (const folder of folders) {
    const { open, fn, map, u32 } = (await import(resolve(folder, 'index.ts'))) as typeof import('../../index.ts');
    const context = await open({ backend, workers: 1 });
    const twice = fn({ x: u32 }, u32, ({ x }) => x.mul(2));
    const x = context.column(new Uint32Array(16));
    works[`map | ${folder}`] = async () => {
      for (let i = 0; i < CALLS; i++) context.dispose(context.materialize(map(twice, { x })));
      await context.sync();
    };
    works[`column | ${folder}`] = async () => {
      for (let i = 0; i < CALLS; i++) context.dispose(context.column(new Uint32Array(16)));
      await context.sync();
    };
    closing.push(() => context.close());
  }
  const times = await inTurns(works, { rounds, warmUps: 3 });
  for (const [name, took] of times) {
    const { median, min, max } = spreadOf(took.map(({ processor }) => (1e6 * processor) / CALLS));
    console.log(`| ${backend} | ${name} | ${[median, min, max].map((us) => us.toFixed(2)).join(' | ')} |`);
  }
  for (const close of closing) await close();
}
