import type { Context } from '../../primitives/context/context.ts';
import { fill, type Table, u32 } from '../../primitives/index.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { inTurns, keepBusy, machine, median, spread, type Took, timesUntilDone } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programWords } from '../shared/program-options.ts';
import { compileCpp } from './cpp.ts';
import { type Answer, answerOf, type BenchProgram, type Case } from './program.ts';
import { PROGRAMS } from './programs.ts';

/**
 * Times programs that authors compose, beside plain JavaScript on one thread and C++ on two, in turns; all must give the
 * same answer. `wall` is the ratio of medians of the wall clock, plain to library; `processor` is twice the ratio of
 * medians of processor times, what two idle cores would give. On WebGPU: milliseconds from a prepared call to done,
 * beside an empty launch of the same run.
 *
 * node --import tsx bench/programs/run.ts [PROGRAM …] [--side 4096] [--only KIND] [--rounds 7] [--no-cpp]
 *   [--backend workers|webgpu|reference] [--workers 2] [--adapter hardware|software]
 */
const { options, positionals } = programWords({
  ...{ backend: 'workers', adapter: undefined, workers: 2 },
  ...{ side: 0, only: undefined, rounds: 7, cpp: true },
});
const { rounds } = options;
await using context = await openNamed(options);
const onDevice = context.backend.name === 'webgpu';
console.log(`${machine()}\n`);
if (onDevice)
  printHead('program | case | plain JavaScript, ms | called, ms to done | prepared, ms to done | empty launch');
else
  printHead(
    'program | case | plain JavaScript, ms | called | prepared | wall | processor | C++, two threads ÷ library',
  );
for (const program of PROGRAMS) {
  if (positionals.length > 0 && !positionals.includes(program.name)) continue;
  for (const [kind, make] of Object.entries(program.kinds)) {
    for (const size of options.side === 0 ? program.sizes : [options.side]) {
      await time(program, `${kind}, ${program.over === 'grid' ? `${size}²` : size}`, kind, () => make(size));
    }
  }
  if (options.side === 0 && program.ofFiles) await time(program, 'of files', 'files', () => program.ofFiles!());
}

async function time(
  program: BenchProgram,
  name: string,
  kind: string,
  make: () => Case | Promise<Case>,
): Promise<void> {
  if (options.only !== undefined && kind !== options.only) return;
  await (onDevice ? timeOnDevice : timeOnThreads)(program, name, await make());
}

async function timeOnThreads(program: BenchProgram, name: string, one: Case): Promise<void> {
  const plain = program.plain(one);
  await using compiled = options.cpp && program.cpp !== undefined ? await compileCpp(program.cpp) : undefined;
  await using cpp = await compiled?.start(one, 2);
  const { run: called } = await program.quadrille(context, one);
  const prepared = await preparedOf(program, called);
  const finish = async (run: () => Table | Promise<Table>): Promise<Table> => {
    const made = await answerOf(context, program, run);
    await context.sync();
    return made;
  };
  const inCpp: Took[] = [];
  const works = {
    plain: () => plain() as Answer | Table,
    called: () => finish(called),
    ...(prepared && { prepared: () => finish(prepared) }),
  };
  const checked = new Set<string>();
  const times = await inTurns<Answer | Table>(works, { rounds }, async (result, name) => {
    if (name === 'plain') {
      const took = await cpp?.run();
      if (took) inCpp.push(took);
      return;
    }
    if (!checked.has(name)) await requireAnswer(program, result as Table, plain());
    checked.add(name);
    context.dispose(result as Table);
  });
  const answer = await cpp?.end();
  if (answer !== undefined) requireBytes(program.name, answer, plain());
  const ms = (name: string, of: 'wall' | 'processor'): number[] =>
    (times.get(name) ?? []).map((took) => 1000 * took[of]);
  const best = prepared === undefined ? 'called' : 'prepared';
  const ratio = (of: 'wall' | 'processor'): number => median(ms('plain', of)) / median(ms(best, of));
  printRow([
    ...[program.name, name, spread(ms('plain', 'wall'), 1), spread(ms('called', 'wall'), 1)],
    prepared === undefined ? '' : spread(ms('prepared', 'wall'), 1),
    ratio('wall').toFixed(2),
    (2 * ratio('processor')).toFixed(2),
    inCpp.length === 0 ? '' : ratioToCpp(inCpp, ms(best, 'wall'), ms(best, 'processor')),
  ]);
}

/** C++ to library, by wall clock and by processor time. */
function ratioToCpp(took: readonly Took[], wall: readonly number[], processor: readonly number[]): string {
  const of = (field: 'wall' | 'processor', own: readonly number[]): string =>
    ((1000 * median(took.map((each) => each[field]))) / median(own)).toFixed(2);
  return `${of('wall', wall)}, processor ${of('processor', processor)}`;
}

async function timeOnDevice(program: BenchProgram, name: string, one: Case): Promise<void> {
  const plain = program.plain(one);
  const started = performance.now();
  const expected = plain();
  const took = performance.now() - started;
  const { run: called } = await program.quadrille(context, one);
  const prepared = await preparedOf(program, called);
  const first = await answerOf(context, program, called);
  await requireAnswer(program, first, expected);
  context.dispose(first);
  await keepBusy(async () => {
    for (let k = 0; k < 50; k++) context.dispose(await answerOf(context, program, called));
    await context.sync();
  }, 1000);
  const often = { rounds: 50, warmUps: 10 };
  const times = await timesUntilDone(context, () => answerOf(context, program, called), often);
  const again = prepared && (await timesUntilDone(context, prepared, often));
  const empty = await timesUntilDone(context, () => fill(context, u32, 0, 1), often);
  const cells = [spread(times, 3), again === undefined ? '' : spread(again, 3), spread(empty, 3)];
  printRow([program.name, name, took.toFixed(1), ...cells]);
}

/** The prepared program; undefined if it waits. */
async function preparedOf(
  program: BenchProgram,
  called: () => Table | Promise<Table>,
): Promise<(() => Table) | undefined> {
  context.dispose(await answerOf(context, program, called));
  if (program.waits === true) return undefined;
  const step = context.prepare({}, called as () => Table);
  return () => step({});
}

async function requireAnswer(program: BenchProgram, table: Table, expected: Answer): Promise<void> {
  const got = await (context as Context).read(table);
  const arrays = Object.keys(expected).map((name) => (got as unknown as Answer)[name]!);
  requireBytes(program.name, arrays, expected);
}

function requireBytes(name: string, got: readonly Uint8Array[] | Answer[string][], expected: Answer): void {
  const bytes = (array: Uint8Array | Answer[string]): Buffer =>
    Buffer.from(array.buffer, array.byteOffset, array.byteLength);
  Object.entries(expected).forEach(([field, array], i) => {
    if (!bytes(array).equals(bytes(got[i]!))) throw new Error(`${name}: ${field} differs.`);
  });
}
