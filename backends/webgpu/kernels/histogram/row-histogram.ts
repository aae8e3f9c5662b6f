import { capacityOf, type HistogramCommand } from '../../../../primitives/contract/backend.ts';
import { largestOf } from '../../../../primitives/host/extremes.ts';
import { entryOf, type ScalarType } from '../../../../primitives/ir/ir.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, launch } from '../../launches/engine.ts';
import { emitProgram, fromWord, type LinkedProgram, linkProgram, programKey, toWord } from '../../launches/link.ts';
import {
  createParameters,
  dispatchWord,
  GROUP_NUMBER,
  type LengthWords,
  lengthExpression,
  type Parameters,
  parameter,
} from '../../launches/parameters.ts';
import type { Memory } from '../../memory/memory.ts';
import { isLight } from '../../wgsl/module-size.ts';
import { bindProgram, countBindings, type IndexRange, placeArrays, windowsOf } from '../shared/windows.ts';

const THREADS = 256;
/**
 * Number of elements that a thread evaluates before it counts them, if the evaluation is cheap. The loads of these
 * elements overlap.
 */
const MAX_STEPS = 4;
/**
 * Wanted number of slots in workgroup memory; a slot holds one histogram. Small histograms get more slots, up to
 * `MAX_SLOTS`. Large histograms get fewer slots if the memory does not suffice.
 */
const WANTED_SLOTS = 3;
const MAX_SLOTS = 64;
/** Marks a slot (place for one histogram) that no histogram has claimed. */
const EMPTY = '0xffffffffu';

/** The data of a histogram command, shared by the launches for all windows (ranges of rows). */
interface Counting {
  readonly parameters: Parameters;
  readonly length: LengthWords;
  /**
   * `row` is the program that evaluates a row, or undefined if rows have no inner elements. `element` is the program
   * that returns the bin and the histogram of an element.
   */
  readonly row: LinkedProgram | undefined;
  readonly element: LinkedProgram;
  readonly into: Memory;
  readonly offset: number;
  /**
   * Index of the first of five adjacent kernel parameters: the index of the first bin's word in the bound buffers, the
   * number of bins, the number of histograms, the number of elements per row (ranks) and the number of rows per
   * workgroup.
   */
  readonly firstWord: number;
  readonly span: number;
  /** `slots` is the number of histograms that fit in workgroup memory; `own` is the size of that memory in words. */
  readonly slots: number;
  readonly own: number;
}

/**
 * Counts keyed histograms. Every workgroup processes a range of rows: first each thread evaluates one row, then all
 * threads process the elements of the active rows. Adjacent threads take adjacent elements of a row, so that they read
 * adjacent words.
 *
 * A workgroup keeps a few histograms in slots of its own memory. Histogram h uses slot h modulo the number of slots,
 * and a slot belongs to the first histogram that claims it. Elements of all other histograms are counted directly in
 * the target. The result is therefore correct for every order of keys, and fast if equal keys are close together. At
 * the end, the slots are added to the target.
 *
 * @returns false if the programs need more bindings or memory than a workgroup has; nothing is launched in this case.
 */
export function countByRows(engine: Engine, command: HistogramCommand): boolean {
  const capacity = capacityOf(command.extent);
  if (capacity === 0) return true;
  const counting = linkCounting(engine, command);
  if (counting === undefined) return false;
  const { row, element, into } = counting;
  const programs = row === undefined ? [element] : [row, element];
  const windows = windowsOf(capacity, programs, []);
  const room = engine.limits.storageBuffers - largestOf(windows.map((window) => bindingsOf(programs, window)));
  if (room < 1) return false;
  for (const window of windows) {
    for (let first = 0; first < into.parts.length; first += room) {
      launchCounting(engine, counting, window, first, Math.min(room, into.parts.length - first));
    }
  }
  return true;
}

function linkCounting({ pool, tuning, shared }: Engine, command: HistogramCommand): Counting | undefined {
  const { extent, program, bins, histograms = 1, inner, into } = command;
  const ranks = inner?.ranks ?? 1;
  const { tile, groups, ownBins, keyedTile } = tuning.histogram;
  const leaves = inner === undefined ? 0 : entryOf(inner.row.module).results.length - 1;
  const room = Math.floor(shared / 4) - (inner === undefined ? 0 : (leaves + 1) * THREADS + 1);
  if (room < 0) return undefined;
  // Little memory per workgroup lets many workgroups run at once. The size is a power of two, so that similar numbers
  // of bins share a pipeline.
  const max = 2 ** Math.floor(Math.log2(Math.max(1, Math.min(ownBins, room - MAX_SLOTS))));
  const own = Math.min(max, 2 ** Math.ceil(Math.log2(Math.max(THREADS, WANTED_SLOTS * bins))));
  const slots = ownBins === 0 ? 0 : Math.min(MAX_SLOTS, Math.floor(own / bins));
  const elements = Math.min(keyedTile, Math.max(tile, Math.ceil((capacityOf(extent) * ranks) / groups)));
  const rows = Math.max(1, Math.min(Math.floor(elements / ranks), rowsOfSlots(command, slots, ranks)));
  const span = rows > THREADS ? Math.ceil(rows / THREADS) * THREADS : rows;
  const parameters = createParameters(pool);
  const length = parameters.length(extent);
  const row = inner && linkProgram('r_', inner.row, parameters, extent);
  const element = linkProgram('p_', program, parameters, extent);
  const [firstWord] = [into.word, bins, histograms, ranks, span].map((word) => parameters.word(word));
  return {
    parameters,
    length,
    row,
    element,
    into: pool.resolve(into.buffer),
    offset: into.word,
    firstWord: firstWord!,
    span,
    slots,
    own,
  };
}

/**
 * Minimum number of elements per bin of a workgroup's slots. With fewer elements, clearing the slots and adding them to
 * the target would take a large share of the time.
 */
const MIN_OF_BIN = 4;

/**
 * The number of rows per workgroup with which the histograms of these rows fill the slots. Assumes that all histograms
 * have equally many rows and that the rows of a histogram are adjacent. The result is at least the number of rows that
 * gives `MIN_OF_BIN` elements to each bin of the slots.
 */
function rowsOfSlots({ extent, bins, histograms = 1 }: HistogramCommand, slots: number, ranks: number): number {
  if (slots === 0) return Number.POSITIVE_INFINITY;
  const rowsOfHistogram = Math.max(1, Math.floor(capacityOf(extent) / histograms));
  return Math.max(slots * rowsOfHistogram, Math.ceil((MIN_OF_BIN * slots * bins) / ranks));
}

function bindingsOf(programs: readonly LinkedProgram[], window: IndexRange): number {
  return countBindings(programs.flatMap((program) => [...placeArrays(program, window).values()]));
}

function launchCounting(
  engine: Engine,
  counting: Counting,
  window: IndexRange,
  firstPart: number,
  parts: number,
): void {
  const { parameters, length, row, element, into, offset, firstWord, span, slots, own } = counting;
  const bindings = createBindings(parameters);
  const rowBound = row && bindProgram(row, window, bindings);
  const elementBound = bindProgram(element, window, bindings);
  const out = bindings.bind(into, 'atomic', firstPart, parts);
  parameters.set(firstWord, offset - firstPart * 2 ** into.shift);
  const bound = parts < into.parts.length ? parts * 2 ** into.shift : undefined;
  const rowKey = rowBound === undefined ? '' : programKey(rowBound);
  launch(engine, {
    key: `rows ${rowKey} ${programKey(elementBound)} ${slots}.${own} ${out}.${bound} ${firstWord} ${length.raw}`,
    bindings,
    groups: Math.ceil((window.to - window.from) / span),
    words: [window.from, window.to],
    code: (shader) => {
      const rowText = rowBound === undefined ? '' : emitProgram(rowBound, shader);
      const text: RowText = { row, element, slots, own, out, bound, firstWord };
      return {
        threads: THREADS,
        declarations: `${rowText}
${emitProgram(elementBound, shader)}
${emitCount(text)}
${emitElement(text)}`,
        main: emitMain(text, length),
      };
    },
  });
}

/** The data that determine the kernel's WGSL. */
interface RowText {
  readonly row: LinkedProgram | undefined;
  readonly element: LinkedProgram;
  readonly slots: number;
  readonly own: number;
  readonly out: number;
  readonly bound: number | undefined;
  readonly firstWord: number;
}

const wordAt = ({ firstWord }: RowText, at: number): string => parameter(firstWord + at);
const binsOf = (text: RowText): string => wordAt(text, 1);
const histogramsOf = (text: RowText): string => wordAt(text, 2);
const ranksOf = (text: RowText): string => wordAt(text, 3);

/** Types of a row's results, without the type of the first result, which says whether the row is active. */
function leavesOf({ row }: RowText): readonly ScalarType[] {
  return row === undefined ? [] : entryOf(row.module).results.slice(1);
}

/**
 * WGSL of `add(histogram, bin, counted)`, which adds to a bin of the target, and of `count(bin, histogram)`, which
 * counts one element.
 */
function emitCount(text: RowText): string {
  const { slots, own, out, bound } = text;
  const add = `fn add(histogram: u32, bin: u32, counted: u32) {
  let word = ${wordAt(text, 0)} + histogram * ${binsOf(text)} + bin;
  ${bound === undefined ? '' : `if (word < ${bound}u) `}{ add_${out}(word, counted); }
}`;
  if (slots === 0) return `${add}\nfn count(bin: u32, histogram: u32) { add(histogram, bin, 1u); }`;
  return `${add}
var<workgroup> own: array<atomic<u32>, ${own}>;
var<workgroup> holds: array<atomic<u32>, ${slots}>;
fn count(bin: u32, histogram: u32) {
  let slot = histogram % ${slots}u;
  var held = atomicLoad(&holds[slot]);
  if (held == ${EMPTY}) {
    held = atomicCompareExchangeWeak(&holds[slot], ${EMPTY}, histogram).old_value;
    if (held == ${EMPTY}) { held = atomicLoad(&holds[slot]); }
  }
  if (held == histogram) { atomicAdd(&own[slot * ${binsOf(text)} + bin], 1u); } else { add(histogram, bin, 1u); }
}`;
}

/**
 * WGSL of `element(j, rank)`, which returns the bin and histogram of an element, and of `count_if`, which counts the
 * element if its bin and histogram are in range.
 */
function emitElement(text: RowText): string {
  const leaves = leavesOf(text);
  const keyed = entryOf(text.element.module).results.length > 1;
  const memory = leaves.map((_, leaf) => `var<workgroup> leaf${leaf}: array<u32, ${THREADS}>;`);
  const rows = `var<workgroup> active_rows: atomic<u32>;\nvar<workgroup> row_at: array<u32, ${THREADS}>;\n${memory.join('\n')}`;
  const args = ['row_at[j]', 'rank', ...leaves.map((type, leaf) => fromWord(type, `leaf${leaf}[j]`))];
  const call = text.row === undefined ? 'p_entry(j)' : `p_entry(${args.join(', ')})`;
  return `${text.row === undefined ? '' : rows}
fn element(j: u32, rank: u32) -> vec2<u32> { let r = ${call}; return ${keyed ? 'vec2<u32>(r.r0, r.r1)' : 'vec2<u32>(r, 0u)'}; }
fn count_if(inside: bool, e: vec2<u32>) {
  if (inside & (e.x < ${binsOf(text)}) & (e.y < ${histogramsOf(text)})) { count(e.x, e.y); }
}`;
}

function emitMain(text: RowText, length: LengthWords): string {
  const { row, slots } = text;
  return `let n = min(${lengthExpression(length)}, ${dispatchWord(1)});
let first = ${dispatchWord(0)} + ${GROUP_NUMBER} * ${wordAt(text, 4)};
if (first >= n) { return; }
let span = min(${wordAt(text, 4)}, n - first);
${slots === 0 ? '' : emitClearing(text)}
${row === undefined ? emitIndices(text) : emitRows(text)}
${slots === 0 ? '' : emitFlush(text)}`;
}

function emitClearing(text: RowText): string {
  return `for (var c = t; c < ${text.slots}u * ${binsOf(text)}; c += ${THREADS}u) { atomicStore(&own[c], 0u); }
if (t < ${text.slots}u) { atomicStore(&holds[t], ${EMPTY}); }
workgroupBarrier();`;
}

/** WGSL that processes rows without inner elements: every row is one element. */
function emitIndices(text: RowText): string {
  const steps = stepsOf(text);
  const at = (k: number): string => `s + ${k * THREADS}u`;
  return `for (var s = t; s < span; s += ${THREADS * steps.length}u) {
  ${steps.map((k) => `let e${k} = element(first + min(${at(k)}, span - 1u), 0u);`).join('\n  ')}
  ${steps.map((k) => `count_if(${at(k)} < span, e${k});`).join('\n  ')}
}`;
}

/**
 * WGSL that evaluates one row per thread, lists the active rows and processes their elements, and repeats this for the
 * remaining rows.
 */
function emitRows(text: RowText): string {
  const leaves = leavesOf(text);
  const active = leaves.length === 0 ? 'r' : 'r.r0';
  const keep = leaves.map((type, leaf) => `leaf${leaf}[j] = ${toWord(type, `r.r${leaf + 1}`)};`);
  const ranks = ranksOf(text);
  const steps = stepsOf(text);
  return `let wide = min(${ranks}, ${THREADS}u);
let deep = ${THREADS}u / wide;
let row0 = t / wide;
let rank0 = t - row0 * wide;
for (var done = 0u; done < span; done += ${THREADS}u) {
  if (t == 0u) { atomicStore(&active_rows, 0u); }
  workgroupBarrier();
  if (done + t < span) {
    let r = r_entry(first + done + t);
    if (${active}) {
      let j = atomicAdd(&active_rows, 1u);
      row_at[j] = first + done + t;
      ${keep.join('\n      ')}
    }
  }
  workgroupBarrier();
  let rows = atomicLoad(&active_rows);
  var row = select(rows, row0, row0 < deep);
  var rank = rank0;
  while (row < rows) {
    ${steps.map((k) => emitStep(k, ranks)).join('\n    ')}
    ${steps.map((k) => `count_if(j${k} < rows, e${k});`).join('\n    ')}
  }
  workgroupBarrier();
}`;
}

/** WGSL that evaluates the element of step k and advances to the thread's next element. */
function emitStep(k: number, ranks: string): string {
  return `let j${k} = row; let e${k} = element(min(j${k}, rows - 1u), rank);
    rank += wide; if (rank >= ${ranks}) { rank = rank0; row += deep; }`;
}

function stepsOf({ element }: RowText): readonly number[] {
  return Array.from({ length: isLight(element.module) ? MAX_STEPS : 1 }, (_, k) => k);
}

/** WGSL that adds the bins in workgroup memory to the bins of the target. */
function emitFlush(text: RowText): string {
  const bins = binsOf(text);
  return `workgroupBarrier();
for (var c = t; c < ${text.slots}u * ${bins}; c += ${THREADS}u) {
  let counted = atomicLoad(&own[c]);
  if (counted > 0u) { let slot = c / ${bins}; add(atomicLoad(&holds[slot]), c - slot * ${bins}, counted); }
}`;
}
