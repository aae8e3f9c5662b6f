import {
  capacityOf,
  type Extent,
  type MonoidProgram,
  type Program,
  type Store,
} from '../../../../primitives/contract/backend.ts';
import { operate, record } from '../../../../primitives/functors/recorder.ts';
import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, launch } from '../../launches/engine.ts';
import { emitProgram, programKey } from '../../launches/link.ts';
import { dispatchWord, GROUP_NUMBER, lengthExpression, parameter } from '../../launches/parameters.ts';
import type { Memory } from '../../memory/memory.ts';
import type { Tuning } from '../../tuning/tuning.ts';
import { scan } from '../scan/scan.ts';
import { columnsModule } from '../shared/columns-program.ts';
import type { KernelSource } from '../shared/source.ts';
import { prepareSource } from '../shared/stored-source.ts';
import { bindGroup, emitStores, groupStores, linkStores, storesKey } from '../shared/stores.ts';
import { bindProgram, countBindings, type IndexRange, placeArrays } from '../shared/windows.ts';
import { emitClear } from '../shared/workgroup.ts';
import { type Columns, DIGITS, type Digit, emitDigit, emitRows } from './radix-rows.ts';

/**
 * Number of threads of a workgroup. With `THREADS` threads, at least one per digit, a workgroup processes one tile.
 * With `LONE_THREADS` threads, every thread processes its own tile.
 */
const THREADS = Math.max(256, DIGITS);
const LONE_THREADS = 4;
/** Number of words of a mask with one bit per thread. */
const MASK_WORDS = THREADS / 32;

/** The data that the kernels of one pass share. */
interface Pass {
  readonly form: Tuning['sort']['tileBy'];
  readonly source: KernelSource;
  readonly tile: number;
  readonly tiles: number;
  /** Index of the kernel parameter with the number of tiles. */
  readonly tilesWord: number;
  readonly shift: number;
  readonly mask: number;
}

/** Number of tiles per workgroup. */
function tilesPerGroup({ form }: Pass): number {
  return form === 'workgroup' ? 1 : LONE_THREADS;
}

/**
 * Sorts stably by one digit, in three steps. The first step counts the digits of every tile, the second scans the
 * counts digit by digit, and the third moves the rows. In the third step, each digit has a bit mask of the threads
 * whose rows have this digit. The mask gives each of these threads its rank among them. The result therefore depends
 * neither on subgroups nor on the order of workgroups. On devices with expensive barriers, each tile is instead
 * processed by a single thread, without masks.
 */
export function radixPass(
  engine: Engine,
  extent: Extent,
  program: Program,
  into: Columns,
  { shift, mask }: Digit,
): void {
  const { pool } = engine;
  const { tileBy: form, tile: wanted } = engine.tuning.sort;
  const tile = Math.min(wanted, pool.partWords);
  const tiles = Math.ceil(capacityOf(extent) / tile);
  const counts = pool.allocate(DIGITS * tiles);
  const places = pool.allocate(DIGITS * tiles);
  const source = prepareSource(engine, extent, program, tile, counts.parts.length + 1);
  const tilesWord = source.parameters.word(tiles);
  const pass: Pass = { form, source, tile, tiles, tilesWord, shift, mask };
  const stores = linkStores(storesOf(into, capacityOf(extent)), source.parameters, extent);
  for (const window of source.windows) countDigits(engine, pass, window, counts);
  scanCounts(engine, counts, places);
  for (const window of source.windows) {
    const reads = countBindings(placeArrays(source.program, window).values()) + places.parts.length;
    for (const group of groupStores(stores, window, engine.limits.storageBuffers - reads)) {
      scatter(engine, pass, window, places, group);
    }
  }
  source.release();
  pool.release(counts);
  pool.release(places);
}

/** Types of the fields of a row in {@link scatter}: key, payload and destination index. */
const RESULTS: readonly ScalarType[] = ['u32', 'u32', 'u32'];

function storesOf({ keys, payload }: Columns, capacity: number): Store[] {
  return [keys, payload].flatMap((cell, value) =>
    cell === undefined ? [] : [{ buffer: cell.buffer, offset: cell.word, capacity, value, index: 2 }],
  );
}

function countDigits(engine: Engine, pass: Pass, window: IndexRange, counts: Memory): void {
  const { form, source, tile, tilesWord } = pass;
  const { program, parameters, length } = source;
  const bindings = createBindings(parameters);
  const rows = bindProgram(program, window, bindings);
  const out = bindings.bind(counts, 'write');
  launch(engine, {
    key: `digits ${form} ${programKey(rows)} ${tile} ${tilesWord} ${out} ${length.raw}`,
    bindings,
    groups: Math.ceil((window.to - window.from) / tile / tilesPerGroup(pass)),
    words: [window.from / tile, pass.shift, pass.mask, Math.ceil(window.to / tile)],
    code: (shader) => ({
      threads: form === 'workgroup' ? THREADS : LONE_THREADS,
      declarations: `${emitProgram(rows, shader)}
${emitRows(program)}
${emitDigit()}
${form === 'workgroup' ? `var<workgroup> bins: array<atomic<u32>, ${DIGITS}>;` : ownWords('bins')}`,
      main: `${emitTile(pass)}
${form === 'workgroup' ? countByWorkgroup(tile, out) : countByThread(out)}`,
    }),
  });
}

/** Emits WGSL that computes the tile's number and the index range `first` … `end` of the tile's elements. */
function emitTile({ form, source, tile, tilesWord }: Pass): string {
  const number = form === 'workgroup' ? GROUP_NUMBER : `${GROUP_NUMBER} * ${LONE_THREADS}u + t`;
  return `let n = ${lengthExpression(source.length)};
let tiles = ${parameter(tilesWord)};
let tile = ${dispatchWord(0)} + ${number};
let first = min(n, tile * ${tile}u);
let end = first + min(${tile}u, n - first);
if (tile >= ${dispatchWord(3)}) { return; }`;
}

function countByWorkgroup(tile: number, out: number): string {
  return `${emitClear('bins', DIGITS, THREADS)}
for (var k = 0u; k < ${tile / THREADS}u; k++) {
  let i = first + k * ${THREADS}u + t;
  if (i < end) { atomicAdd(&bins[digit(row(i).r0)], 1u); }
}
workgroupBarrier();
${byDigit(`store_${out}(t * tiles + tile, atomicLoad(&bins[t]));`)}`;
}

/** Wraps WGSL so that only one thread per digit executes it. */
function byDigit(text: string): string {
  return DIGITS < THREADS ? `if (t < ${DIGITS}u) { ${text} }` : text;
}

/**
 * Declares a private WGSL array with one word per digit. If the array were declared inside a function, SwiftShader
 * would take twice as long to compile the kernel.
 */
function ownWords(name: string): string {
  return `var<private> ${name}: array<u32, ${DIGITS}>;`;
}

function countByThread(out: number): string {
  return `for (var i = first; i < end; i++) { bins[digit(row(i).r0)]++; }
for (var d = 0u; d < ${DIGITS}u; d++) { store_${out}(d * tiles + tile, bins[d]); }`;
}

/** The `emit` module of the scan of the counts. It returns the exclusive prefix, which the scan then stores. */
const exclusive = record({ name: 'exclusive', parameters: ['u32', 'u32', 'u32'], results: ['u32'] }, ([, before]) => [
  before!,
]);

const plus: MonoidProgram = {
  module: record({ name: 'plus', parameters: ['u32', 'u32'], results: ['u32'] }, (operands) => [
    operate('add', operands),
  ]),
  types: ['u32'],
  identity: [0],
  exact: true,
  commutative: true,
};

/** Computes, for every digit and tile, the index in the sorted output of the tile's first key with this digit. */
function scanCounts(engine: Engine, counts: Memory, places: Memory): void {
  const length = counts.words;
  const column = { buffer: counts, storage: 'u32', offset: 0, length } as const;
  scan(engine, {
    kind: 'scan',
    extent: length,
    program: { module: columnsModule(['u32']), arrays: new Map([['a0', column]]), uniforms: new Map() },
    monoid: plus,
    emit: { module: exclusive, arrays: new Map(), uniforms: new Map() },
    stores: [{ buffer: places, offset: 0, capacity: length, value: 0 }],
  });
}

function scatter(
  engine: Engine,
  pass: Pass,
  window: IndexRange,
  places: Memory,
  group: ReturnType<typeof groupStores>[number],
): void {
  const { form, source, tile, tilesWord } = pass;
  const { program, parameters, length } = source;
  const bindings = createBindings(parameters);
  const rows = bindProgram(program, window, bindings);
  const first = bindings.bind(places, 'read');
  const stores = bindGroup(group, bindings);
  launch(engine, {
    key: `scatter ${form} ${programKey(rows)} ${storesKey(stores)} ${tile} ${tilesWord} ${first} ${length.raw}`,
    bindings,
    groups: Math.ceil((window.to - window.from) / tile / tilesPerGroup(pass)),
    words: [window.from / tile, pass.shift, pass.mask, Math.ceil(window.to / tile)],
    code: (shader) => ({
      threads: form === 'workgroup' ? THREADS : LONE_THREADS,
      declarations: `${emitProgram(rows, shader)}
${emitRows(program)}
${emitDigit()}
fn place_row(i: u32, r: Row) { ${emitStores(stores, RESULTS)} }
${form === 'workgroup' ? ranking : ownWords('next')}`,
      main: `${emitTile(pass)}
if (first == end) { return; }
${form === 'workgroup' ? scatterByWorkgroup(tile, first) : scatterByThread(first)}`,
    }),
  });
}

function scatterByWorkgroup(tile: number, places: number): string {
  return `${byDigit(`next[t] = load_${places}(t * tiles + tile);`)}
${emitClear('masks', DIGITS * MASK_WORDS, THREADS)}
for (var k = 0u; k < ${tile / THREADS}u; k++) {
  let i = first + k * ${THREADS}u + t;
  var r: Row;
  if (i < end) { r = row(i); enter(digit(r.r0), t); }
  workgroupBarrier();
  if (i < end) { r.r2 = place_of(digit(r.r0), t); place_row(i, r); }
  workgroupBarrier();
  ${byDigit('leave(t);')}
  workgroupBarrier();
}`;
}

function scatterByThread(places: number): string {
  return `for (var d = 0u; d < ${DIGITS}u; d++) { next[d] = load_${places}(d * tiles + tile); }
for (var i = first; i < end; i++) {
  var r = row(i);
  r.r2 = next[digit(r.r0)];
  next[digit(r.r0)]++;
  place_row(i, r);
}`;
}

/** WGSL functions that rank a thread among those threads of its workgroup whose keys have the same digit. */
const ranking = `var<workgroup> masks: array<atomic<u32>, ${DIGITS * MASK_WORDS}>;
var<workgroup> next: array<u32, ${DIGITS}>;
fn enter(d: u32, t: u32) { atomicOr(&masks[d * ${MASK_WORDS}u + (t >> 5u)], 1u << (t & 31u)); }
fn place_of(d: u32, t: u32) -> u32 {
  var rank = next[d] + countOneBits(atomicLoad(&masks[d * ${MASK_WORDS}u + (t >> 5u)]) & ((1u << (t & 31u)) - 1u));
  for (var w = 0u; w < (t >> 5u); w++) { rank += countOneBits(atomicLoad(&masks[d * ${MASK_WORDS}u + w])); }
  return rank;
}
fn leave(d: u32) {
  for (var w = 0u; w < ${MASK_WORDS}u; w++) { next[d] += countOneBits(atomicExchange(&masks[d * ${MASK_WORDS}u + w], 0u)); }
}`;
