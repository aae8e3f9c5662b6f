import { f32, inclusiveScan, plus, reverse, u32 } from '../../primitives/index.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { inTurns, machine, spread } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';

/**
 * Times scans from the right on workers beside scans from the left, and beside plain loops in JavaScript on one thread.
 * They take turns. Prints milliseconds by the wall clock and in processor time of all threads.
 *
 * node --import tsx bench/primitives/reversed-scans.ts [--workers 2] [--rows 4194304] [--rounds 15]
 */
const { rows, rounds, workers } = programOptions({ rows: 2 ** 22, rounds: 15, workers: 2 });
await using context = await openNamed({ backend: 'workers', workers });

const inputs = {
  u32: Uint32Array.from({ length: rows }, (_, i) => 7 * i),
  f32: Float32Array.from({ length: rows }, (_, i) => i % 100),
  u8: Uint8Array.from({ length: rows }, (_, i) => 7 * i),
};

function sumsFromRight(values: Uint32Array | Uint8Array): Uint32Array {
  const out = new Uint32Array(values.length);
  let sum = 0;
  for (let i = values.length - 1; i >= 0; i--) out[i] = sum = (sum + values[i]!) >>> 0;
  return out;
}

function floatSumsFromRight(values: Float32Array): Float32Array {
  const out = new Float32Array(values.length);
  let sum = 0;
  for (let i = values.length - 1; i >= 0; i--) out[i] = sum = Math.fround(sum + values[i]!);
  return out;
}

console.log(`${rows} rows, ${rounds} rounds in turns, ${machine()}\n`);
printHead('elements | work | ms, wall | ms, processor');
for (const [name, values] of Object.entries(inputs)) {
  const column = context.column(values);
  const sum = values instanceof Float32Array ? plus(f32) : plus(u32);
  const onDevice = (call: () => unknown) => async (): Promise<void> => {
    const made = call();
    await context.sync();
    context.dispose(made);
  };
  const works = {
    'from the left': onDevice(() => inclusiveScan(column, sum as never)),
    'from the right': onDevice(() => inclusiveScan(column, sum as never, { reverse: true })),
    'from the right, stored in order': onDevice(() =>
      context.scope(() => context.materialize(inclusiveScan(column, sum as never, { reverse: true }))),
    ),
    'a reversed copy': onDevice(() => context.materialize(reverse(column))),
    'a plain loop': () => void (values instanceof Float32Array ? floatSumsFromRight(values) : sumsFromRight(values)),
  };
  for (const [work, took] of await inTurns<unknown>(works, { rounds, warmUps: 3 })) {
    const of = (which: 'wall' | 'processor'): string =>
      spread(
        took.map((each) => 1000 * each[which]),
        2,
      );
    printRow([name, work, of('wall'), of('processor')]);
  }
  context.dispose(column);
}
