import { capacityOf, type HistogramCommand } from '../../../../primitives/contract/backend.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, launch } from '../../launches/engine.ts';
import { emitProgram, programKey } from '../../launches/link.ts';
import { dispatchWord, GROUP_NUMBER, lengthExpression, parameter } from '../../launches/parameters.ts';
import type { Memory } from '../../memory/memory.ts';
import { rangesOf } from '../../memory/ranges.ts';
import { separate } from '../../memory/snapshot.ts';
import { isLight } from '../../wgsl/module-size.ts';
import type { KernelSource } from '../shared/source.ts';
import { prepareSource } from '../shared/stored-source.ts';
import { bindProgram, countBindings, type IndexRange, placeArrays } from '../shared/windows.ts';
import { emitClear } from '../shared/workgroup.ts';
import { countKeyed } from './keyed-histogram.ts';

const THREADS = 256;
/**
 * Number of elements that a thread evaluates before it counts them, if the evaluation is cheap. The loads of these
 * elements overlap.
 */
const MAX_STEPS = 4;

/**
 * How elements are distributed over workgroups. A run is a segment of the rows that has its own histogram. A workgroup
 * counts either a chunk of one run or several short runs.
 */
interface HistogramSpread {
  readonly segment: number;
  readonly bins: number;
  /** Number of elements per workgroup. */
  readonly chunk: number;
  readonly chunksPerRun: number;
  readonly runsPerGroup: number;
  /** Number of bins in workgroup memory; undefined if a workgroup's bins do not fit there. */
  readonly own: number | undefined;
}

/** The data of a histogram command, shared by its launches. */
interface Counting {
  readonly spread: HistogramSpread;
  readonly source: KernelSource;
  readonly into: Memory;
  /** Index of the first bin's word in `into`. */
  readonly offset: number;
  /**
   * Index of the first of six adjacent kernel parameters: the index of the first bin's word in the bound buffers, the
   * segment length, the number of bins, the chunk length, the number of chunks per run (segment of the rows) and the
   * number of runs per workgroup.
   */
  readonly firstWord: number;
}

/** Runs a histogram command; see `HistogramCommand`. */
export function histogram(engine: Engine, command: HistogramCommand): void {
  if (command.histograms !== undefined || command.inner !== undefined) countKeyed(engine, command);
  else countRuns(engine, command);
}

function countRuns(engine: Engine, command: HistogramCommand): void {
  const { bins, into } = command;
  const { pool, recorder } = engine;
  const capacity = capacityOf(command.extent);
  const segment = command.segment ?? Math.max(1, capacity);
  const runs = command.segment === undefined ? 1 : Math.ceil(capacity / segment);
  const target = pool.resolve(into.buffer);
  if (bins * runs === 0) return;
  const inputs = separate(engine, command.extent, [command.program] as const, [into.buffer]);
  for (const { part, word, words } of rangesOf(target, into.word, bins * runs)) {
    recorder.clear(part, word * 4, words * 4);
  }
  if (capacity > 0) {
    const source = prepareSource(engine, inputs.extent, inputs.programs[0], 1, 1);
    const spread = spreadOver(engine, capacity, segment, bins);
    const { chunk, chunksPerRun, runsPerGroup } = spread;
    const words = [into.word, segment, bins, chunk, chunksPerRun, runsPerGroup];
    const [firstWord] = words.map((word) => source.parameters.word(word));
    const counting: Counting = { spread, source, into: target, offset: into.word, firstWord: firstWord! };
    for (const window of source.windows) countWindow(engine, counting, window);
    source.release();
  }
  inputs.release();
}

function spreadOver({ tuning }: Engine, capacity: number, segment: number, bins: number): HistogramSpread {
  const { tile, groups, ownBins } = tuning.histogram;
  // A long run (segment of the rows) gets few workgroups, because every workgroup finally adds all its bins to the bins
  // of the run.
  const wanted = Math.max(tile, Math.ceil(capacity / groups / THREADS) * THREADS);
  const runsPerGroup = Math.max(1, Math.min(Math.floor(wanted / segment), Math.floor(ownBins / bins)));
  const chunk = runsPerGroup > 1 ? runsPerGroup * segment : Math.min(segment, wanted);
  const needed = bins * runsPerGroup;
  return {
    segment,
    bins,
    chunk,
    chunksPerRun: Math.ceil(segment / chunk),
    runsPerGroup,
    own: needed > ownBins ? undefined : Math.max(THREADS, 2 ** Math.ceil(Math.log2(needed))),
  };
}

/** The number of the workgroup that counts a given element. */
function groupOf({ segment, chunk, chunksPerRun, runsPerGroup }: HistogramSpread, element: number): number {
  const runs = Math.floor(element / (segment * runsPerGroup));
  return runs * chunksPerRun + Math.floor((element - runs * segment * runsPerGroup) / chunk);
}

/**
 * Counts the elements of a window (range of elements). If the bins are split over more GPU buffers than one launch can
 * bind, several launches count the elements, each for the bins in some of these buffers.
 */
function countWindow(engine: Engine, counting: Counting, window: IndexRange): void {
  const { source, into } = counting;
  const room = engine.limits.storageBuffers - countBindings(placeArrays(source.program, window).values());
  for (let first = 0; first < into.parts.length; first += room) {
    launchCounting(engine, counting, window, first, Math.min(room, into.parts.length - first));
  }
}

function launchCounting(
  engine: Engine,
  counting: Counting,
  window: IndexRange,
  firstPart: number,
  parts: number,
): void {
  const { spread, source, into, offset, firstWord } = counting;
  const { program, parameters, length } = source;
  const bindings = createBindings(parameters);
  const counted = bindProgram(program, window, bindings);
  const out = bindings.bind(into, 'atomic', firstPart, parts);
  parameters.set(firstWord, offset - firstPart * 2 ** into.shift);
  const bound = parts < into.parts.length ? parts * 2 ** into.shift : undefined;
  const first = groupOf(spread, window.from);
  const { own } = spread;
  launch(engine, {
    key: `histogram ${programKey(counted)} ${own} ${out}.${bound} ${firstWord} ${length.raw}`,
    bindings,
    groups: groupOf(spread, window.to - 1) - first + 1,
    words: [first, window.from, window.to],
    code: (shader) => {
      const [into, segment, bins, chunk, chunksPerRun, runsPerGroup] = [0, 1, 2, 3, 4, 5].map((i) =>
        parameter(firstWord + i),
      );
      const steps = Array.from({ length: isLight(program.module) ? MAX_STEPS : 1 }, (_, k) => k);
      return {
        threads: THREADS,
        declarations: `${emitProgram(counted, shader)}
fn add(word: u32, counted: u32) { ${bound === undefined ? '' : `if (word < ${bound}u) `}{ add_${out}(word, counted); } }
${own === undefined ? '' : `var<workgroup> own: array<atomic<u32>, ${own}>;`}
// Number of an element's bin among the bins of all runs of the workgroup; all ones if the element is not counted.
fn bin_of(i: u32, high: u32, base: u32) -> u32 {
  let bin = p_entry(min(i, high - 1u));
  let inside = (i < high) & (i >= ${dispatchWord(1)}) & (bin < ${bins});
  return select(0xffffffffu, (i - base) / ${segment} * ${bins} + bin, inside);
}
fn count(bin: u32, target_bins: u32) {
  if (bin != 0xffffffffu) { ${own === undefined ? `add(target_bins + bin, 1u);` : 'atomicAdd(&own[bin], 1u);'} }
}`,
        main: `let n = min(${lengthExpression(length)}, ${dispatchWord(2)});
let group = ${dispatchWord(0)} + ${GROUP_NUMBER};
let run = group / ${chunksPerRun} * ${runsPerGroup};
let base = run * ${segment};
let skipped = group % ${chunksPerRun} * ${chunk};
let low = base + skipped;
if (low >= n) { return; }
${own === undefined ? '' : emitClear('own', `${runsPerGroup} * ${bins}`, THREADS)}
let high = low + min(min(${chunk}, ${runsPerGroup} * ${segment} - skipped), n - low);
let target_bins = ${into} + run * ${bins};
for (var i = low + t; i < high; i += ${THREADS * steps.length}u) {
  ${steps.map((k) => `let i${k} = i + ${k * THREADS}u; let b${k} = bin_of(i${k}, high, base);`).join('\n  ')}
  ${steps.map((k) => `count(b${k}, target_bins);`).join(' ')}
}
${own === undefined ? '' : `workgroupBarrier();\n${emitFlush(`${runsPerGroup} * ${bins}`)}`}`,
      };
    },
  });
}

/** WGSL that adds a workgroup's bins to the bins of its runs (segments of rows) in global memory. */
function emitFlush(bins: string): string {
  return `for (var b = t; b < ${bins}; b += ${THREADS}u) {
  let counted = atomicLoad(&own[b]);
  if (counted > 0u) { add(target_bins + b, counted); }
}`;
}
