import { OutOfMemoryError } from '../../../../primitives/checks/errors.ts';
import {
  type ArrayBinding,
  capacityOf,
  type Extent,
  type Program,
  type Store,
} from '../../../../primitives/contract/backend.ts';
import { literal, operate, read, record } from '../../../../primitives/functors/recorder.ts';
import { wrapModule } from '../../../../primitives/functors/wrap-module.ts';
import { entryOf, type Module } from '../../../../primitives/ir/ir.ts';
import { createVariants } from '../../../../primitives/ir/memo.ts';
import { storesAlone } from '../../../analyses/store-alone.ts';
import type { Engine } from '../../launches/engine.ts';
import { dispatchWord, GROUP_NUMBER, lengthExpression } from '../../launches/parameters.ts';
import type { Memory } from '../../memory/memory.ts';
import { isLight } from '../../wgsl/module-size.ts';
import { columnsProgram } from '../shared/columns-program.ts';
import { emitStoresOf } from '../shared/stores.ts';
import { runStoring } from '../shared/storing.ts';
import { beginSweep } from '../sort/one-sweep.ts';
import { DIGIT_BITS, type Digit } from '../sort/radix-rows.ts';
import { judgePlaces } from './judge-places.ts';
import { emitItems } from './store-each.ts';

/**
 * Stores rows to scattered places (indices) in a column that exceeds the device's cache. One pass of a radix sort first
 * groups the rows by the high bits of their places, that is, by parts of the column. The rows of one part are then
 * stored at about the same time, so that each cache line is written to memory once. The device samples some rows and
 * decides whether the rows are scattered; if the rows are not scattered, they are stored without grouping.
 *
 * @returns whether all stores were launched. False if, for example, a target column is small, a store is at the launch
 * index, or the device cannot group the rows.
 */
export function scatterByParts(engine: Engine, extent: Extent, program: Program, stores: readonly Store[]): boolean {
  const { min } = engine.tuning.scatter;
  const isLarge = ({ index, capacity }: Store): boolean => index !== undefined && capacity >= min;
  // Rows are evaluated two or three times, so the evaluation must be cheap.
  if (capacityOf(extent) < min || !stores.every(isLarge) || !isLight(program.module)) return false;
  const alone = stores.length === 1 ? [{ program, store: stores[0]! }] : storesAlone(program, stores);
  // If this function returns `false`, the caller stores all columns. Columns that were already stored here are then
  // stored again, with the same values.
  return alone?.every((each) => scatterColumn(engine, extent, each.program, each.store)) ?? false;
}

function scatterColumn(engine: Engine, extent: Extent, program: Program, store: Store): boolean {
  if (readsOf(extent, program).has(store.buffer) || !bindsAll(engine, extent, program, store)) return false;
  const placed = moveRows(engine, extent, program, store);
  if (placed === undefined) return false;
  storePlaced(engine, extent, placed, store);
  for (const memory of placed.own) engine.pool.release(memory);
  return true;
}

function readsOf(extent: Extent, { arrays }: Program): ReadonlySet<unknown> {
  const lengths = [extent, ...[...arrays.values()].map(({ length }) => length)];
  const counted = lengths.flatMap((length) => (typeof length === 'number' ? [] : [length.buffer]));
  return new Set([...counted, ...[...arrays.values()].map(({ buffer }) => buffer)]);
}

/**
 * Whether every column is a single GPU buffer, and whether one launch can bind the original rows, the grouped rows and
 * the target.
 */
function bindsAll({ pool, limits }: Engine, extent: Extent, { arrays }: Program, store: Store): boolean {
  const buffers = [...[...arrays.values()].map(({ buffer }) => buffer), store.buffer];
  const memories = new Set(buffers.map((buffer) => pool.resolve(buffer)));
  const isWhole = capacityOf(extent) <= pool.partWords && [...memories].every(({ parts }) => parts.length === 1);
  return isWhole && memories.size + OWN_COLUMNS <= limits.storageBuffers;
}

/** Number of temporary columns: the places, the words to store, and the single word `choice`. */
const OWN_COLUMNS = 3;

interface PlacedRows {
  /** One word that holds the number of grouped rows: all rows, or 0. */
  readonly choice: Memory;
  /**
   * Programs that return the place of a row and the word to store at this place. `moved` reads place and word from the
   * grouped rows, and `rows` computes place and word in the original order.
   */
  readonly moved: Program;
  readonly rows: Program;
  readonly own: readonly Memory[];
}

/**
 * Groups rows by the high bits of their places if the device finds that the rows are scattered. Returns undefined if
 * the device lacks memory or cannot run the sort kernel.
 */
function moveRows(engine: Engine, extent: Extent, program: Program, store: Store): PlacedRows | undefined {
  const { pool } = engine;
  const capacity = capacityOf(extent);
  const digit = highestDigit(store.capacity);
  const rows: Program = { ...program, module: placedWords(program.module, store) };
  const move = (): PlacedRows | undefined => {
    const own = [capacity, capacity, 1].map((words) => pool.allocate(words));
    const [places, words, choice] = own as [Memory, Memory, Memory];
    judgePlaces(engine, extent, rows, digit, store.capacity, choice);
    const sweep = beginSweep(engine, { buffer: choice, word: 0, minus: 0, limit: capacity }, rows, [digit]);
    const cells = { keys: { buffer: places, word: 0 }, payload: { buffer: words, word: 0 } };
    const isMoved = sweep?.run(rows, cells, 0) ?? false;
    sweep?.release();
    if (isMoved) return { choice, moved: columnsProgram([places, words], capacity), rows, own };
    for (const memory of own) pool.release(memory);
    return undefined;
  };
  try {
    let placed: PlacedRows | undefined;
    pool.attempt(() => {
      placed = move();
    });
    return placed;
  } catch (error) {
    if (error instanceof OutOfMemoryError) return undefined;
    throw error;
  }
}

/** The digit that consists of the `DIGIT_BITS` highest bits of the places in a column of `capacity` elements. */
function highestDigit(capacity: number): Digit {
  const shift = Math.max(0, Math.ceil(Math.log2(capacity)) - DIGIT_BITS);
  return { shift, mask: 2 ** DIGIT_BITS - 1 };
}

/** Stores words at their places: from the grouped rows if `choice` is not 0, else from the original rows. */
function storePlaced(engine: Engine, extent: Extent, { choice, moved, rows }: PlacedRows, store: Store): void {
  const { threads, items } = engine.tuning.forEach;
  const { guard: _, ...unguarded } = store;
  const word: ArrayBinding = { buffer: choice, storage: 'u32', offset: 0, length: 1 };
  const chosen: Program = { module: CHOSEN, arrays: new Map([['choice', word]]), uniforms: new Map() };
  const programs = new Map([
    ['c_', chosen],
    ['m_', moved],
    ['p_', rows],
  ]);
  runStoring(engine, extent, programs, [{ ...unguarded, index: 0, value: 1 }], {
    key: 'placed',
    threads,
    items,
    text: (length, bound) => ({
      declarations: `fn put(i: u32, place: u32, word: u32) {
${emitStoresOf(bound, ['u32', 'u32'], (result) => (result === 0 ? 'place' : 'word'), 'i')}
}`,
      main: `let n = min(${lengthExpression(length)}, ${dispatchWord(1)});
let base = ${dispatchWord(0)} + ${GROUP_NUMBER} * ${threads * items}u + t;
if (base >= n) { return; }
if (c_entry(0u) > 0u) {
${emitItems(threads, items, 'm_', putRow)}
} else {
${emitItems(threads, items, 'p_', putRow)}
}`,
    }),
  });
}

function putRow(index: string, row: string): string {
  return `put(${index}, ${row}.r0, ${row}.r1)`;
}

const CHOSEN = record(
  { name: 'chosen', parameters: ['u32'], results: ['u32'], arrays: new Map([['choice', 'u32']]) },
  () => [read('choice', 'u32', literal('u32', 0))],
);

/**
 * Maximum number of cached variants of a module: one for each combination of `index`, `value` and `guard` of a store.
 */
const MAX_STORES = 64;

const placedVariant = createVariants<Module, Module>(MAX_STORES);

/**
 * A module that returns the place and the word that a store writes for a row. If the guard excludes the row, the place
 * is 2³² − 1, which is past the end of every column.
 */
function placedWords(module: Module, store: Store): Module {
  const key = [store.index, store.value, store.guard].join();
  return placedVariant(module, key, () => placedWordsOf(module, store));
}

const NOWHERE = literal('u32', 2 ** 32 - 1);

function placedWordsOf(module: Module, { index, value, guard }: Store): Module {
  return wrapModule(module, {
    name: `${entryOf(module).name} with its place`,
    parameters: ['u32'],
    results: ['u32', 'u32'],
    body: (parameters, entry) => {
      const values = entry(parameters);
      const [at, stored] = [values[index!]!, values[value]!];
      const place = guard === undefined ? at : operate('select', [NOWHERE, at, values[guard]!]);
      return [place, operate(stored.type === 'bool' ? 'convert' : 'bits', [stored], 'u32')];
    },
  });
}
