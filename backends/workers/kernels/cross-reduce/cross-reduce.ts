import { type CrossReduceCommand, capacityOf } from '../../../../primitives/contract/backend.ts';
import { runsOf } from '../../../../primitives/derived/cross-reduce-by-rows.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import { combineGraph } from '../../../analyses/monoid-shapes.ts';
import { Graph } from '../../../analyses/straight-line.ts';
import {
  argumentWords,
  type KernelShape,
  lengthWords,
  shapeKey,
  shapeOf,
  takeOwnMemory,
} from '../../commands/kernel-arguments.ts';
import { fixedPhase, type Launch, type Launcher } from '../../commands/launch.ts';
import { straightFunctor } from '../../wasm/program-graph.ts';
import { monoidKey } from '../shared/monoid-code.ts';
import { crossWords, emitBlock, ROWS } from './cross-reduce-block.ts';
import { emitRun } from './cross-reduce-run.ts';

/**
 * The programs of the kernel, in the order that `emitBlock` and `emitRun` rely on when they select a program by index.
 */
function programsOf({ leftOwn, rightOwn, step, value }: CrossReduceCommand): KernelShape['programs'] {
  return [leftOwn, rightOwn, step, value];
}

const [STEP, VALUE] = [2, 3];

/**
 * Whether the command can evaluate four pairs at a time with vectors. The host must know the number of left rows, the
 * packed rows must fit in {@link MAX_SCRATCH} bytes, and `step`, `value` and the monoid must compile to straight-line
 * code.
 */
export function isVectorised(command: CrossReduceCommand): boolean {
  if (typeof command.extent !== 'number') return false;
  if (scratchBytes(command) > MAX_SCRATCH || combineGraph(command.monoid).results === undefined) return false;
  const shape = shapeOf(programsOf(command), 0);
  return [STEP, VALUE].every((program) => straightFunctor(new Graph(), shape, program) !== undefined);
}

/** Maximum number of bytes of private memory per thread. Larger packed rows would not fit in any cache. */
const MAX_SCRATCH = 2 ** 24;

function scratchBytes({ dimensions, left, leftOwn }: CrossReduceCommand): number {
  return 4 * ROWS * (left.length * dimensions + entryOf(leftOwn.module).results.length) + 16;
}

/** Desired minimum number of chunks per worker, for load balancing. */
const CHUNKS_PER_WORKER = 8;
/** Desired maximum number of evaluations of `step` per chunk. Smaller chunks let workers notice an abort sooner. */
const STEPS_OF_CHUNK = 2 ** 26;

/**
 * Folds a functor over all pairs of left and right rows, in one parallel phase. A chunk consists of {@link ROWS} left
 * rows and some runs (ranges) of right rows. A thread packs the left rows of its chunk into tiles of two vectors and
 * pairs each tile with four right rows at a time.
 */
export function launchCrossReduce(launcher: Launcher, command: CrossReduceCommand): Launch {
  const { others, left, right, results, run, dimensions, monoid } = command;
  const ownWords = crossWords.vectors + left.length + right.length + results.length;
  const shape = shapeOf(programsOf(command), ownWords);
  const types = [left, right].map((leaves) => leaves.map(({ type }) => type).join());
  const start = command.start.map((value) => (Object.is(value, -0) ? '-0' : `${value}`));
  const key = [dimensions, ...types, start.join(), monoidKey(monoid), shapeKey(shape)];
  const kernel = launcher.compile(`crossReduce ${key.join('/')}`, () => [
    emitBlock(shape, command),
    emitRun(shape, command),
  ]);
  const { addresses, workers } = launcher;
  const [rows, runs] = [command.extent as number, runsOf(command)];
  const blocks = Math.ceil(rows / ROWS);
  const steps = ROWS * capacityOf(others) * Math.max(1, dimensions);
  const wanted = Math.max(Math.ceil((workers * CHUNKS_PER_WORKER) / blocks), Math.ceil(steps / STEPS_OF_CHUNK));
  const runsOfChunk = Math.max(1, Math.ceil(runs / wanted));
  const chunks = rows === 0 ? 0 : blocks * Math.ceil(runs / runsOfChunk);
  const bytes = 16 * Math.ceil(scratchBytes(command) / 16);
  const words = takeOwnMemory(launcher, bytes, chunks);
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
    words: argumentWords(shape, addresses, lengthWords(others, addresses), 1, words),
    phases: [fixedPhase(kernel.functions[0]!, chunks)],
  };
}
