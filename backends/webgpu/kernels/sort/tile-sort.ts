import { type Cell, capacityOf, type Extent, type Program } from '../../../../primitives/contract/backend.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, launch } from '../../launches/engine.ts';
import { emitProgram, programKey } from '../../launches/link.ts';
import { dispatchWord, lengthExpression, parameter } from '../../launches/parameters.ts';
import { lines } from '../shared/lines.ts';
import { linkSource } from '../shared/source.ts';
import { laneSets } from '../shared/subgroups.ts';
import { bindProgram } from '../shared/windows.ts';
import { emitClear } from '../shared/workgroup.ts';
import { type Columns, DIGIT_BITS, DIGITS, emitRows } from './radix-rows.ts';
import { emitAlike, emitCountsByDigit, emitPlacesByDigit, emitRanks, shareOf } from './ranks.ts';

/**
 * Where the kernel stores a column: the number of the column's binding, and WGSL of the offset of the column's first
 * word.
 */
interface Target {
  readonly slot: number;
  readonly offset: string;
}

/** The data that determine the kernel's WGSL. */
interface TileSort {
  readonly threads: number;
  /** Number of keys per thread. */
  readonly items: number;
  readonly min: number;
  readonly max: number;
  readonly keys: Target | undefined;
  readonly payload: Target | undefined;
}

/**
 * Sorts rows that fit into one workgroup, in one launch. Keys and payload stay in registers, and threads exchange them
 * through workgroup memory once per digit.
 *
 * @returns false if there are too many rows, or if the device does not support the kernel.
 */
export function sortTile(
  engine: Engine,
  extent: Extent,
  program: Program,
  [beginBit, endBit]: readonly [number, number],
  targets: Columns,
): boolean {
  const { pool, subgroups, limits, shared } = engine;
  const { on, threads, alone } = engine.tuning.sort.sweep;
  const items = 2 ** Math.ceil(Math.log2(Math.max(1, capacityOf(extent) / threads)));
  if (subgroups === undefined || !on || items > alone) return false;
  const { min, max } = subgroups;
  if ((exchangeWords(threads, items, min) + threads / min) * 4 > shared) return false;
  const source = linkSource(engine, extent, program);
  const { parameters, windows, length } = source;
  const bindings = createBindings(parameters);
  const bind = (cell: Cell | undefined): Target | undefined =>
    cell && { slot: bindings.bind(pool.resolve(cell.buffer), 'write'), offset: parameter(parameters.word(cell.word)) };
  const stored = { keys: bind(targets.keys), payload: bind(targets.payload) };
  const rows = bindProgram(source.program, windows[0]!, bindings);
  if (windows.length > 1 || bindings.size > limits.storageBuffers) return false;
  const tile: TileSort = { threads, items, min, max, ...stored };
  const places = [stored.keys, stored.payload].map((target) => `${target?.slot}.${target?.offset}`).join();
  launch(engine, {
    key: `tile sort ${programKey(rows)} ${threads}.${items} ${places} ${length.raw}`,
    bindings,
    groups: 1,
    words: [beginBit, endBit],
    code: (shader) => ({
      threads,
      subgroups: true,
      declarations: `${emitProgram(rows, shader)}
${emitRows(source.program)}
${emitDeclarations(tile)}`,
      main: emitMain(tile, lengthExpression(length), entryOf(source.program.module).results.length > 1),
    }),
  });
  return true;
}

/**
 * Number of words of the workgroup array that holds, at different times, the counters of all subgroups and one word per
 * row.
 */
function exchangeWords(threads: number, items: number, min: number): number {
  return Math.max((threads / min) * DIGITS, threads * items);
}

function emitDeclarations({ threads, items, min, max }: TileSort): string {
  return `var<workgroup> shared_words: array<atomic<u32>, ${exchangeWords(threads, items, min)}>;
var<workgroup> totals: array<u32, ${threads / min}>;
${laneSets(max).functions}
${emitAlike(min, max)}`;
}

/**
 * WGSL of `main`. Every subgroup processes a range of the rows, with adjacent keys in adjacent lanes. Positions past
 * the end get the largest key and so are sorted last.
 */
function emitMain(tile: TileSort, length: string, hasPayload: boolean): string {
  const { threads, items, min, keys, payload } = tile;
  const groups = threads / min;
  const exchange = (name: string): string => `workgroupBarrier();
${lines(items, (k) => `atomicStore(&shared_words[q${k}], ${name}${k});`)}
workgroupBarrier();
${lines(items, (k) => `${name}${k} = atomicLoad(&shared_words[i${k}]);`)}`;
  const write = ({ slot, offset }: Target, name: string): string =>
    lines(items, (k) => `if (i${k} < n) { store_${slot}(i${k} + ${offset}, ${name}${k}); }`);
  return `let n = ${length};
if (n == 0u) { return; }
let u = sid * sg + lane;
let counters = sid * ${DIGITS}u;
// Read.
${lines(items, (k) => `let i${k} = sid * sg * ${items}u + ${k}u * sg + lane; let r${k} = row(min(i${k}, n - 1u)); var key${k} = select(0xffffffffu, r${k}.r0, i${k} < n); var value${k} = r${k}.r1;`)}
for (var shift = ${dispatchWord(0)}; shift < ${dispatchWord(1)}; shift += ${DIGIT_BITS}u) {
let mask = (1u << min(${DIGIT_BITS}u, ${dispatchWord(1)} - shift)) - 1u;
workgroupBarrier();
${emitClear('shared_words', groups * DIGITS, threads)}
// Rank among the keys of the subgroup.
${lines(items, (k) => `let d${k} = (key${k} >> shift) & mask;`)}
${emitRanks(items)}
workgroupBarrier();
// Place.
${emitFirstPlaces(threads, groups)}
workgroupBarrier();
${lines(items, (k) => `let q${k} = p${k} + atomicLoad(&shared_words[counters + d${k}]);`)}
${exchange('key')}
${hasPayload && payload !== undefined ? exchange('value') : ''}
}
// Write.
${keys === undefined ? '' : write(keys, 'key')}
${payload === undefined ? '' : write(payload, 'value')}`;
}

/**
 * Emits WGSL that replaces each subgroup's counter of a digit by an index in the sorted tile: the index of the
 * subgroup's first key with this digit.
 */
function emitFirstPlaces(threads: number, groups: number): string {
  const { own, holders } = shareOf(threads);
  const all = Array.from({ length: own }, (_, j) => `count${j}`).join(' + ');
  return `${emitCountsByDigit(threads, groups)}
let sum = select(0u, ${all}, ${holders});
var first = subgroupInclusiveAdd(sum);
if (lane == sg - 1u) { totals[sid] = first; }
workgroupBarrier();
first -= sum;
${lines(groups - 1, (s) => `first += select(0u, totals[${s}], ${s}u < sid);`)}
${lines(own, (j) => `let start${j} = ${j === 0 ? 'first' : `start${j - 1} + count${j - 1}`};`)}
${emitPlacesByDigit(threads, groups)}`;
}
