import { type CrossReduceCommand, capacityOf } from '../../../../primitives/contract/backend.ts';
import { runsOf } from '../../../../primitives/cross-reduce-by-rows.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import { combineGraph } from '../../../analyses/monoid-shapes.ts';
import { Graph, straightLine } from '../../../analyses/straight-line.ts';
import { argumentWords, type KernelShape, layoutOf, lengthWords, shapeKey } from '../../commands/kernel-arguments.ts';
import { fixedPhase, type Launch, type Launcher } from '../../commands/launch.ts';
import { slotsOf } from '../../wasm/program-graph.ts';
import { monoidKey } from '../shared/monoid-code.ts';
import { crossWords, emitBlock, ROWS } from './cross-reduce-block.ts';
import { emitRun } from './cross-reduce-run.ts';

/** The programs of a kernel, in this order. */
function programsOf({ leftOwn, rightOwn, step, value }: CrossReduceCommand): KernelShape['programs'] {
  return [leftOwn, rightOwn, step, value];
}

const [STEP, VALUE] = [2, 3];

/** Whether pairs can be taken four at a time: of a number of rows that is known, and functors that are straight lines. */
export function isVectorised(command: CrossReduceCommand): boolean {
  if (typeof command.extent !== 'number') return false;
  if (scratchBytes(command) > MAX_SCRATCH || combineGraph(command.monoid).results === undefined) return false;
  const programs = programsOf(command);
  const layout = layoutOf(programs);
  return [STEP, VALUE].every((program) => {
    const graph = new Graph();
    const { module } = programs[program]!;
    const parameters = entryOf(module).parameters.map(({ type }, k) => graph.parameter(type, `${k}`));
    return straightLine(graph, module, slotsOf(layout, program), parameters) !== undefined;
  });
}

/** Bytes that a thread packs rows in, at most: of longer vectors it would be no cache that holds them. */
const MAX_SCRATCH = 2 ** 24;

function scratchBytes({ dimensions, left, leftOwn }: CrossReduceCommand): number {
  return 4 * ROWS * (left.length * dimensions + entryOf(leftOwn.module).results.length) + 16;
}

/** Chunks that a worker has several of, … */
const CHUNKS_PER_WORKER = 8;
/** … and steps of a chunk, at most, so that an abort is seen soon. */
const STEPS_OF_CHUNK = 2 ** 26;

/**
 * Folds a functor of all pairs: chunks of {@link ROWS} left rows, which a thread packs so that eight of them are two vectors, and of
 * some runs of right rows, four of which it takes at once.
 */
export function launchCrossReduce(launcher: Launcher, command: CrossReduceCommand): Launch {
  const { others, left, right, results, run, dimensions, monoid } = command;
  const shape: KernelShape = {
    programs: programsOf(command),
    stores: [],
    words: crossWords.vectors + left.length + right.length + results.length,
  };
  const layout = layoutOf(shape.programs);
  const types = [left, right].map((leaves) => leaves.map(({ type }) => type).join());
  const start = command.start.map((value) => (Object.is(value, -0) ? '-0' : `${value}`));
  const key = [dimensions, ...types, start.join(), monoidKey(monoid), shapeKey(shape, layout)];
  const kernel = launcher.compile(`crossReduce ${key.join('/')}`, () => [
    emitBlock(shape, layout, command),
    emitRun(shape, layout, command),
  ]);
  const { addresses, workers } = launcher;
  const [rows, runs] = [command.extent as number, runsOf(command)];
  const blocks = Math.ceil(rows / ROWS);
  const steps = ROWS * capacityOf(others) * Math.max(1, dimensions);
  const wanted = Math.max(Math.ceil((workers * CHUNKS_PER_WORKER) / blocks), Math.ceil(steps / STEPS_OF_CHUNK));
  const runsOfChunk = Math.max(1, Math.ceil(runs / wanted));
  const chunks = rows === 0 ? 0 : blocks * Math.ceil(runs / runsOfChunk);
  const bytes = 16 * Math.ceil(scratchBytes(command) / 16);
  const words: number[] = [];
  words[crossWords.own] = launcher.scratch(bytes * Math.max(1, Math.min(workers, chunks)));
  words[crossWords.ownBytes] = bytes;
  words[crossWords.byChunk] = Number(chunks < workers);
  words[crossWords.rows] = rows;
  words[crossWords.blocks] = blocks;
  words[crossWords.run] = run;
  words[crossWords.runs] = runs;
  words[crossWords.runsOfChunk] = runsOfChunk;
  const vectors = [...left, ...right].map(({ array }) =>
    addresses.of({ buffer: array.buffer, word: array.offset }, capacityOf(array.length)),
  );
  const into = results.map(({ buffer, offset, capacity }) => addresses.of({ buffer, word: offset }, capacity));
  words.push(...vectors, ...into);
  return {
    words: argumentWords(shape, layout, addresses, lengthWords(others, addresses), 1, words),
    phases: [fixedPhase(kernel.functions[0]!, chunks)],
  };
}
