import type { MonoidProgram, ScanLinesCommand } from '../../../../primitives/contract/backend.ts';
import { type Bindings, createBindings } from '../../launches/bindings.ts';
import { type Engine, type KernelText, launch } from '../../launches/engine.ts';
import { bindArrays, emitProgram, linkProgram, programKey } from '../../launches/link.ts';
import { createParameters, GROUP_NUMBER, parameter } from '../../launches/parameters.ts';
import { separate } from '../../memory/snapshot.ts';
import { isLight } from '../../wgsl/module-size.ts';
import { columnsModule } from '../shared/columns-program.ts';
import { lines } from '../shared/lines.ts';
import {
  emitEvaluation,
  emitMonoid,
  emitSharedStates,
  emitStateLoad,
  emitStateStore,
  monoidKey,
} from '../shared/record.ts';
import { allocateColumns, type TemporaryColumns } from '../shared/stored-source.ts';
import { type BoundStore, emitStoresOf, linkStores, storesKey } from '../shared/stores.ts';

/** Lines beside each other that a workgroup reads at once if lines are columns, so that memory is read in long runs. */
const BESIDE = 32;

/** Cells of a thread if the code of a cell is long. */
const FEW = 4;

/** How a workgroup scans a part of several lines. All numbers are powers of two. */
export interface LineTile {
  /** Number of lines, of threads along each line, and of adjacent cells of a line for each thread. */
  readonly lines: number;
  readonly along: number;
  readonly items: number;
}

/**
 * Chooses how workgroups scan lines; undefined if one launch cannot bind all buffers, or if workgroups have too little
 * memory. States of several leaves (scalar components) take many registers, so threads get fewer of them.
 */
export function layoutLines(engine: Engine, command: ScanLinesCommand): LineTile | undefined {
  const { pool, limits, shared } = engine;
  const { axis, rows, columns, program, monoid, stores } = command;
  const arrays = [...program.arrays.values(), ...stores].map(({ buffer }) => pool.resolve(buffer));
  const parts = [...new Set(arrays)].reduce((sum, memory) => sum + memory.parts.length, 0);
  if (parts + 1 > limits.storageBuffers) return undefined;
  const leaves = monoid.types.length;
  const [count, length] = axis === 'rows' ? [rows, columns] : [columns, rows];
  const threads = Math.min(engine.tuning.lines.threads, engine.threads);
  const most = Math.min(engine.tuning.lines.items, isLight(program.module) ? Number.POSITIVE_INFINITY : FEW);
  let items = Math.min(powerFrom(length), 2 ** Math.floor(Math.log2(Math.max(1, most / leaves))));
  const words = (): number => leaves * threads * (2 + (axis === 'rows' ? items + 1 : 0));
  while (items > 1 && 4 * words() > shared) items /= 2;
  if (4 * words() > shared) return undefined;
  const beside = axis === 'rows' ? 1 : Math.min(BESIDE, Math.max(1, threads / 8), powerFrom(count));
  const along = Math.min(threads / beside, powerFrom(length / items));
  const tile = { lines: threads / along, along, items };
  return partsOf(length, tile) * count * leaves <= pool.partWords ? tile : undefined;
}

function powerFrom(number: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(number)));
}

function partsOf(length: number, { along, items }: LineTile): number {
  return Math.ceil(length / (along * items));
}

/**
 * Scans each row or column of a grid by itself; see `ScanLinesCommand`. A workgroup scans a part of several lines. If
 * lines have several parts, a first launch finds the total of each part, and the prefixes before parts are a scan of
 * these totals, line by line.
 */
export function scanLines(engine: Engine, command: ScanLinesCommand, tile: LineTile): void {
  const { axis, rows, columns, monoid, stores } = command;
  if (rows * columns === 0) return;
  const buffers = stores.map(({ buffer }) => buffer);
  const inputs = separate(engine, command.extent, [command.program] as const, buffers);
  const separated = { ...command, program: inputs.programs[0] };
  const [count, length] = axis === 'rows' ? [rows, columns] : [columns, rows];
  const parts = partsOf(length, tile);
  if (parts === 1) launchParts(engine, separated, tile, {});
  else {
    const { types } = monoid;
    const [totals, prefixes] = [0, 1].map(() => allocateColumns(engine.pool, types, parts * count));
    launchParts(engine, separated, tile, { totals: totals! });
    const arrays = new Map(totals!.columns.map((column, i) => [`a${i}`, column]));
    const ofParts: ScanLinesCommand = {
      ...{ kind: 'scanLines', extent: parts * count, rows: parts, columns: count, axis: 'columns', monoid },
      program: { module: columnsModule(types), arrays, uniforms: new Map() },
      inclusive: false,
      stores: prefixes!.stores,
    };
    scanLines(engine, ofParts, layoutLines(engine, ofParts)!);
    launchParts(engine, separated, tile, { prefixes: prefixes! });
    totals!.release();
    prefixes!.release();
  }
  inputs.release();
}

/** What is known of parts: their totals if a launch finds only these, or the prefixes before them. */
interface Parts {
  readonly totals?: TemporaryColumns;
  readonly prefixes?: TemporaryColumns;
}

function launchParts(
  engine: Engine,
  { extent, axis, rows, columns, program, monoid, inclusive, stores }: ScanLinesCommand,
  tile: LineTile,
  { totals, prefixes }: Parts,
): void {
  const { types } = monoid;
  const threads = tile.lines * tile.along;
  const [count, length] = axis === 'rows' ? [rows, columns] : [columns, rows];
  const [parts, strips] = [partsOf(length, tile), Math.ceil(count / tile.lines)];
  const parameters = createParameters(engine.pool);
  const word = (value: number): string => parameter(parameters.word(value));
  const sizes: Sizes = {
    ...{ parts: word(parts), strips: word(strips), count: word(count), length: word(length), columns: word(columns) },
    stride: word(parts * count),
  };
  const linked = linkProgram('p_', program, parameters, extent);
  const bindings = createBindings(parameters);
  const bound = bindArrays(linked, bindings);
  const written = (totals === undefined ? linkStores(stores, parameters, extent) : []).map(
    (store): BoundStore => ({ store, slot: bindings.bind(store.memory, 'write') }),
  );
  const [into, before] = [slotOf(engine, bindings, totals, 'write'), slotOf(engine, bindings, prefixes, 'read')];
  launch(engine, {
    key: `lines ${axis} ${Object.values(tile)} ${inclusive} ${monoidKey(monoid)} ${programKey(bound)} ${storesKey(written)} ${into} ${before}`,
    bindings,
    groups: parts * strips,
    code: (shader): KernelText => ({
      threads,
      declarations: `${emitMonoid(monoid, shader)}
${emitProgram(bound, shader)}
${emitEvaluation(linked)}
${emitSharedStates(types, 2 * threads)}
${axis === 'rows' ? emitSharedStates(types, threads * (tile.items + 1), 'cell') : ''}
${into === undefined ? '' : emitStateStore('write_total', into, sizes.stride, types)}
${before === undefined ? '' : emitStateLoad('prefix_of', before, sizes.stride, types)}
${emitCells(axis, sizes, monoid, written)}`,
      main: emitTile(axis, tile, sizes, inclusive, before !== undefined, into !== undefined),
    }),
  });
}

/** The leaves of states follow each other in one buffer: `layoutLines` sees to it that they fit in one. */
function slotOf(
  { pool }: Engine,
  bindings: Bindings,
  states: TemporaryColumns | undefined,
  access: 'read' | 'write',
): number | undefined {
  return states && bindings.bind(pool.resolve(states.columns[0]!.buffer), access);
}

/** WGSL of the numbers of parts, of strips (the lines of a workgroup), of lines, of cells of a line and of columns. */
type Sizes = Readonly<Record<'parts' | 'strips' | 'count' | 'length' | 'columns' | 'stride', string>>;

/**
 * WGSL of functions that evaluate a cell and store its results: cell `c` from cell `begin` of a line on. Outside the
 * grid, elements are the identity, and nothing is stored.
 */
function emitCells(
  axis: ScanLinesCommand['axis'],
  { count, length, columns }: Sizes,
  { types }: MonoidProgram,
  stores: readonly BoundStore[],
): string {
  const place = axis === 'rows' ? `line * ${columns} + c` : `c * ${columns} + line`;
  return `fn place_of(line: u32, c: u32) -> u32 { return ${place}; }
fn element(line: u32, begin: u32, c: u32) -> S {
  let room = ${length} - begin;
  var s = evaluate(place_of(min(line, ${count} - 1u), begin + min(c, room - 1u)));
  if (line >= ${count} || c >= room) { s = identity(); }
  return s;
}
fn keep(line: u32, begin: u32, c: u32, s: S) {
  if (line >= ${count} || c >= ${length} - begin) { return; }
  let i = place_of(line, begin + c);
  ${emitStoresOf(stores, types, (leaf) => `s.a${leaf}`, 'i')}
}`;
}

/**
 * WGSL that scans a part of several lines. Every thread folds its adjacent cells. The threads along a line scan these
 * folds in workgroup memory, by Sklansky's network: in every step, threads in the right half of a group add the total of
 * the left half. Then every thread scans its cells from what is before them. Cells of rows are read and written in the
 * order of memory, and pass through workgroup memory to the threads that scan them. Cells of columns are beside those of
 * the next thread.
 */
function emitTile(
  axis: ScanLinesCommand['axis'],
  { lines: beside, along, items }: LineTile,
  { parts, strips, count }: Sizes,
  inclusive: boolean,
  hasPrefixes: boolean,
  onlyTotals: boolean,
): string {
  const threads = beside * along;
  const inRows = axis === 'rows';
  // Cell n of the workgroup's cells in memory, and its place in workgroup memory, where a thread's cells have padding.
  const order = (k: number): string => `let n${k} = ${k * threads}u + t;`;
  const placed = (k: number): string => `first + n${k} / ${along * items}u, begin, n${k} % ${along * items}u`;
  const own = (k: number): string => (inRows ? `take_cell(t * ${items + 1}u + ${k}u)` : `s${k}`);
  const lender = (left: string): string => (inRows ? `t - w + ${left}` : `${left} * ${beside}u + t % ${beside}u`);
  const read = inRows
    ? `${lines(items, (k) => `${order(k)} let e${k} = element(${placed(k)});`)}
${lines(items, (k) => `put_cell(n${k} + n${k} / ${items}u, e${k});`)}
workgroupBarrier();`
    : lines(items, (k) => `let s${k} = element(line, begin, w * ${items}u + ${k}u);`);
  const steps = Array.from({ length: Math.log2(along) }, (_, d) => d);
  const half = (d: number): string => `${(d % 2) * threads}u`;
  const add = (d: number): string => `put(${half(d)} + t, s);
workgroupBarrier();
if ((w & ${1 << d}u) != 0u) { s = combine(take(${half(d)} + ${lender(`(((w >> ${d}u) << ${d}u) - 1u)`)}), s); }`;
  const result = (k: number): string =>
    inRows ? `put_cell(t * ${items + 1}u + ${k}u, before);` : `keep(line, begin, w * ${items}u + ${k}u, before);`;
  const next = (k: number): string => `before = combine(before, ${own(k)});`;
  const write = (k: number): string => {
    if (inclusive) return `${next(k)} ${result(k)}`;
    return inRows ? `{ let s = ${own(k)}; ${result(k)} before = combine(before, s); }` : `${result(k)} ${next(k)}`;
  };
  return `let part = ${GROUP_NUMBER} / ${strips};
if (part >= ${parts}) { return; }
let begin = part * ${along * items}u;
let first = (${GROUP_NUMBER} - part * ${strips}) * ${beside}u;
let w = ${inRows ? `t % ${along}u` : `t / ${beside}u`};
let line = first + ${inRows ? `t / ${along}u` : `t % ${beside}u`};
${read}
var s = ${own(0)};
${lines(items - 1, (k) => `s = combine(s, ${own(k + 1)});`)}
${steps.map(add).join('\n')}
${
  onlyTotals
    ? `if (w == ${along - 1}u && line < ${count}) { write_total(part * ${count} + line, s); }`
    : `put(${half(steps.length)} + t, s);
workgroupBarrier();
var before = identity();
if (w > 0u) { before = take(${half(steps.length)} + ${lender('(w - 1u)')}); }
${hasPrefixes ? `before = combine(prefix_of(part * ${count} + min(line, ${count} - 1u)), before);` : ''}
${lines(items, write)}
${inRows ? `workgroupBarrier();\n${lines(items, (k) => `keep(${placed(k)}, take_cell(n${k} + n${k} / ${items}u));`)}` : ''}`
}`;
}
