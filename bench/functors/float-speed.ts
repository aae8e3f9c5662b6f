import { FLOAT_FUNCTIONS } from '../../primitives/functors/standard/float-functions.ts';
import { type Column, f32, fn, map } from '../../primitives/index.ts';
import { openDevice } from '../shared/device.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { inTurns, machine, spread } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { reduceAgain, timePipeline } from '../shared/webgpu-timing.ts';

/**
 * Times functions of f32. On workers, a map of the function and a plain loop with the function of `Math`, on one thread,
 * take turns. On WebGPU, by the device's own clock, a map of the function beside a map that copies, which is the limit,
 * and beside the same functor with `fast`, which takes the device's own function. Arguments are even between −2¹⁶ and 2¹⁶.
 *
 * node --import tsx bench/functors/float-speed.ts [--backend workers|webgpu] [--adapter hardware|software] [--workers 2]
 *   [--rows 16777216] [--rounds 9] [--names sin,cos,exp,log,pow,atan2]
 */
const options = programOptions({
  ...BACKEND_OPTIONS,
  rows: 2 ** 24,
  rounds: 9,
  names: 'sin,cos,exp,log,pow,atan2,tanh,cbrt',
});
const { rows, rounds } = options;
const given = Float32Array.from({ length: rows }, (_, i) => ((i * 2654435761) % 2 ** 32) / 2 ** 15 - 2 ** 16);
const names = options.names.split(',');
/** The second argument of functions of two. */
const SECOND = 1.75;

/** The same function in a functor. */
function functorOf(name: string, fast: boolean) {
  const own = FLOAT_FUNCTIONS[name]!;
  return fn(name, { x: f32 }, f32, ({ x }) => own(x, f32(SECOND)), { fast });
}

const copy = fn('copy', { x: f32 }, f32, ({ x }) => x);

if (options.backend === 'webgpu') await timeOnDevice();
else await timeBesideLoops();

async function timeBesideLoops(): Promise<void> {
  await using context = await openNamed(options);
  const x = context.column(given);
  console.log(`machine  ${machine()}, ${options.workers} workers; ${rows} rows, ${rounds} rounds in turns\n`);
  printHead('function | map, processor ns a row | loop with Math | loop ÷ map, wall | processor time');
  for (const name of names) {
    const functor = functorOf(name, false);
    const out = new Float32Array(rows);
    // Made of text, so that each function has a loop of its own, as a program would have.
    const loop = new Function('x', 'out', `for (let i = 0; i < x.length; i++) out[i] = Math.${name}(x[i], ${SECOND});`);
    const ways = {
      async map() {
        const result = context.materialize(map(functor, { x }));
        await context.sync(result);
        context.dispose(result);
      },
      loop: () => loop(given, out) as unknown,
    };
    const took = await inTurns<unknown>(ways, { rounds });
    const [ours, theirs] = ['map', 'loop'].map((way) => took.get(way)!);
    const ratios = (of: 'wall' | 'processor'): string =>
      spread(
        theirs!.map((each, i) => each[of] / ours![i]![of]),
        1,
      );
    const nanoseconds = [ours!, theirs!].map((times) => times.map(({ processor }) => (1e9 * processor) / rows));
    printRow([name, ...nanoseconds.map((each) => spread(each, 1)), ratios('wall'), ratios('processor')]);
  }
}

async function timeOnDevice(): Promise<void> {
  const { backend, context, name: device } = await openDevice(options.adapter ?? 'hardware');
  const x = context.column(given);
  const heat = (): void => reduceAgain(context, context.column(new Uint32Array(2 ** 20)), 2 ** 9);
  const timeOf = async (functor: ReturnType<typeof functorOf>): Promise<number> => {
    const once = (): void => void context.dispose(context.materialize(map(functor, { x }) as Column<'f32'>));
    const { total } = await timePipeline(backend, heat, 'reduce', once, rounds);
    return total.median;
  };
  console.log(`adapter  ${device}; ${rows} rows, ${rounds} rounds; medians\n`);
  printHead('function | copy, ms | map, ms | fast, ms | copy ÷ map | copy ÷ fast');
  for (const name of names) {
    const [copied, exact, fast] = [
      await timeOf(copy),
      await timeOf(functorOf(name, false)),
      await timeOf(functorOf(name, true)),
    ];
    const ratio = (time: number): string => (copied / time).toFixed(2);
    printRow([name, ...[copied, exact, fast].map((time) => time.toFixed(4)), ratio(exact), ratio(fast)]);
  }
  await context.close();
}
