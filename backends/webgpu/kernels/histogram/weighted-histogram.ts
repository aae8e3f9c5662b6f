import { capacityOf, type WeightedHistogramCommand } from '../../../../primitives/contract/backend.ts';
import { weightsOf } from '../../../../primitives/derived/weighted-histogram-by-digits.ts';
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
import { bindProgram, type IndexRange } from '../shared/windows.ts';
import { emitClear } from '../shared/workgroup.ts';

const THREADS = 256;
/**
 * Number of rows that a thread evaluates before it adds their weights, if the evaluation is cheap. The loads of these
 * rows overlap.
 */
const MAX_STEPS = 4;
/**
 * Maximum number of copies of every sum in workgroup memory. With a single copy, lanes of a subgroup that add to the
 * same bin would wait for each other.
 */
const MAX_COPIES = 32;

/** The sums in workgroup memory. */
interface OwnSums {
  /** Number of words of workgroup memory. Every sum has `copies` words, each the low word of a partial sum. */
  readonly words: number;
  readonly copies: number;
}

/** The data of a weighted histogram command, shared by its launches. */
interface Adding {
  readonly source: KernelSource;
  readonly into: Memory;
  readonly weights: number;
  /** Number of rows per workgroup. */
  readonly chunk: number;
  /** The sums in workgroup memory; undefined if they do not fit there. */
  readonly own: OwnSums | undefined;
  /**
   * Index of the first of three adjacent kernel parameters: the index of the first sum's word in `into`, the number of
   * bins and the number of rows per workgroup.
   */
  readonly firstWord: number;
}

/** Whether all sums are in one binding, as {@link weightedHistogram} requires. */
export function bindsSums({ pool }: Engine, { into }: WeightedHistogramCommand): boolean {
  return pool.resolve(into.buffer).parts.length === 1;
}

/**
 * Adds up weights per bin; see `WeightedHistogramCommand`. A sum has a low and a high word. Low words are added
 * atomically, first in workgroup memory if they fit there. If an addition overflows 32 bits, which is rare, the high
 * word is incremented directly in global memory.
 */
export function weightedHistogram(engine: Engine, command: WeightedHistogramCommand): void {
  const { bins, into } = command;
  const { pool, recorder } = engine;
  const capacity = capacityOf(command.extent);
  const weights = weightsOf(command);
  const target = pool.resolve(into.buffer);
  const inputs = separate(engine, command.extent, [command.program] as const, [into.buffer]);
  for (const { part, word, words } of rangesOf(target, into.word, 2 * weights * bins)) {
    recorder.clear(part, word * 4, words * 4);
  }
  if (capacity > 0) {
    const source = prepareSource(engine, inputs.extent, inputs.programs[0], 1, 1);
    const { tile, groups, ownBins } = engine.tuning.histogram;
    const chunk = Math.max(tile, Math.ceil(capacity / groups / THREADS) * THREADS);
    const [firstWord] = [into.word, bins, chunk].map((word) => source.parameters.word(word));
    const own = ownSums(weights * bins, ownBins);
    const adding: Adding = { source, into: target, weights, chunk, own, firstWord: firstWord! };
    for (const window of source.windows) addWindow(engine, adding, window);
    source.release();
  }
  inputs.release();
}

function ownSums(sums: number, ownBins: number): OwnSums | undefined {
  if (sums > ownBins) return undefined;
  const copies = Math.min(MAX_COPIES, 2 ** Math.floor(Math.log2(ownBins / sums)));
  return { words: Math.max(THREADS, 2 ** Math.ceil(Math.log2(sums * copies))), copies };
}

function addWindow(engine: Engine, adding: Adding, window: IndexRange): void {
  const { source, into, weights, chunk, own, firstWord } = adding;
  const { program, parameters, length } = source;
  const bindings = createBindings(parameters);
  const rows = bindProgram(program, window, bindings);
  const out = bindings.bind(into, 'atomic');
  const first = Math.floor(window.from / chunk);
  launch(engine, {
    key: `weights ${programKey(rows)} ${own?.words} ${own?.copies} ${out} ${firstWord} ${length.raw}`,
    bindings,
    groups: Math.floor((window.to - 1) / chunk) - first + 1,
    words: [first, window.from, window.to],
    code: (shader) => {
      const [into, bins, chunk] = [0, 1, 2].map((i) => parameter(firstWord + i));
      const steps = Array.from({ length: isLight(program.module) ? MAX_STEPS : 1 }, (_, k) => k);
      const members = Array.from({ length: weights }, (_, w) => `w${w}: u32`).join(', ');
      const given = Array.from({ length: weights }, (_, w) => `r.r${w + 1}`).join(', ');
      return {
        threads: THREADS,
        declarations: `${emitProgram(rows, shader)}
${own === undefined ? '' : `var<workgroup> own: array<atomic<u32>, ${own.words}>;`}
struct Row { bin: u32, ${members} }
// The bin and the weights of a row. The bin of a row that is not counted is all ones.
fn row_of(i: u32, high: u32) -> Row {
  let r = p_entry(min(i, high - 1u));
  let inside = (i < high) & (i >= ${dispatchWord(1)}) & (r.r0 < ${bins});
  return Row(select(0xffffffffu, r.r0, inside), ${given});
}
// Adds a value to the 64-bit sum of a weight in device memory.
fn add_sum(sum: u32, bin: u32, value: u32) {
  let word = ${into} + 2u * sum * ${bins} + bin;
  if (carry_${out}(word, value)) { add_${out}(word + ${bins}, 1u); }
}
fn add_weight(weight: u32, bin: u32, value: u32, copy: u32) {
  ${own === undefined ? 'add_sum(weight, bin, value);' : emitOwnAdd(own, out, into!, bins!)}
}
fn add_row(row: Row, copy: u32) {
  if (row.bin == 0xffffffffu) { return; }
  ${Array.from({ length: weights }, (_, w) => `add_weight(${w}u, row.bin, row.w${w}, copy);`).join(' ')}
}`,
        main: `let n = min(${lengthExpression(length)}, ${dispatchWord(2)});
let low = (${dispatchWord(0)} + ${GROUP_NUMBER}) * ${chunk};
if (low >= n) { return; }
${own === undefined ? '' : emitClear('own', `${weights}u * ${bins} * ${own.copies}u`, THREADS)}
let high = low + min(${chunk}, n - low);
let copy = t ${own === undefined ? '' : `% ${own.copies}u`};
for (var i = low + t; i < high; i += ${THREADS * steps.length}u) {
  ${steps.map((k) => `let row${k} = row_of(i + ${k * THREADS}u, high);`).join('\n  ')}
  ${steps.map((k) => `add_row(row${k}, copy);`).join(' ')}
}
${own === undefined ? '' : `workgroupBarrier();\n${emitFlush(own, weights, bins!)}`}`,
      };
    },
  });
}

/**
 * WGSL that adds a weight to the low word of a sum in workgroup memory. On overflow, the WGSL increments the high word
 * of the sum in global memory.
 */
function emitOwnAdd({ copies }: OwnSums, out: number, into: string, bins: string): string {
  return `let old = atomicAdd(&own[(weight * ${bins} + bin) * ${copies}u + copy], value);
  if (old > ~value) { add_${out}(${into} + (2u * weight + 1u) * ${bins} + bin, 1u); }`;
}

/** WGSL that adds the sums in workgroup memory to the sums in global memory. */
function emitFlush({ copies }: OwnSums, weights: number, bins: string): string {
  return `for (var s = t; s < ${weights}u * ${bins}; s += ${THREADS}u) {
  for (var c = 0u; c < ${copies}u; c++) {
    let value = atomicLoad(&own[s * ${copies}u + c]);
    if (value > 0u) { add_sum(s / ${bins}, s % ${bins}, value); }
  }
}`;
}
