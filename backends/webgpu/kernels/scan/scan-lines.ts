import type { MonoidProgram, ScanLinesCommand } from '../../../../primitives/contract/backend.ts';
import { BLOCK, QUAD } from '../../../../primitives/contract/combination-tree.ts';
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
  const sizes = { ...engine.tuning.lines, limit: engine.threads, leaves, light: isLight(program.module) };
  const tile = (monoid.exact ? exactTile : treeTile)({ axis, count, length }, sizes, shared);
  return tile && partsOf(length, tile) * count * leaves <= pool.partWords ? tile : undefined;
}

interface Lines {
  readonly axis: ScanLinesCommand['axis'];
  readonly count: number;
  readonly length: number;
}

interface Sized {
  readonly threads: number;
  readonly items: number;
  /** Maximum number of threads of a workgroup. */
  readonly limit: number;
  readonly leaves: number;
  readonly light: boolean;
}

function exactTile({ axis, count, length }: Lines, sized: Sized, shared: number): LineTile | undefined {
  const threads = Math.min(sized.threads, sized.limit);
  const most = sized.light ? sized.items : Math.min(sized.items, FEW);
  let items = Math.min(powerFrom(length), 2 ** Math.floor(Math.log2(Math.max(1, most / sized.leaves))));
  while (items > 1 && bytesOf(axis, threads, items, sized) > shared) items /= 2;
  if (bytesOf(axis, threads, items, sized) > shared) return undefined;
  const beside = axis === 'rows' ? 1 : Math.min(BESIDE, Math.max(1, threads / 8), powerFrom(count));
  const along = Math.min(threads / beside, powerFrom(length / items));
  return { lines: threads / along, along, items };
}

/**
 * A part along the combination tree is a block of it. Columns are read in long runs if threads have several quads, and
 * workgroups as many threads as there may be.
 */
function treeTile({ axis, length }: Lines, sized: Sized, shared: number): LineTile | undefined {
  const block = Math.min(BLOCK, Math.max(QUAD, powerFrom(length)));
  const several = axis === 'columns' && sized.light && sized.leaves <= 2;
  const items = Math.min(block, several ? Math.max(QUAD, sized.items) : QUAD);
  const along = block / items;
  const threads = Math.min(sized.limit, Math.max(along, axis === 'rows' ? sized.threads : 4 * sized.threads));
  if (along > sized.limit || bytesOf(axis, threads, items, sized) > shared) return undefined;
  return { lines: 2 ** Math.floor(Math.log2(threads / along)), along, items };
}

/** Bytes of workgroup memory. */
function bytesOf(axis: Lines['axis'], threads: number, items: number, { leaves }: Sized): number {
  return 4 * leaves * threads * (2 + (axis === 'rows' ? items + 1 : 0));
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
    key: `lines ${axis} ${monoid.exact} ${Object.values(tile)} ${inclusive} ${monoidKey(monoid)} ${programKey(bound)} ${storesKey(written)} ${into} ${before}`,
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
      main: emitTile(
        { axis, tile, sizes, inclusive, hasPrefixes: before !== undefined, onlyTotals: into !== undefined },
        monoid.exact ? emitScan : emitTree,
      ),
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

/** What a launch does with the parts of lines. */
interface PartsText {
  readonly axis: ScanLinesCommand['axis'];
  readonly tile: LineTile;
  readonly sizes: Sizes;
  readonly inclusive: boolean;
  readonly hasPrefixes: boolean;
  readonly onlyTotals: boolean;
}

/** WGSL of a thread's cells: of cell `k`, and of statements that store the variable `result` for cell `k`. */
interface OwnCells {
  cell(k: number): string;
  keep(k: number, result: string): string;
}

/**
 * WGSL that scans a part of several lines. Cells of rows are read and written in the order of memory, and pass through
 * workgroup memory to the threads that scan them. Cells of columns are beside those of the next thread.
 */
function emitTile(text: PartsText, scan: (text: PartsText, own: OwnCells) => string): string {
  const { axis, tile, sizes, onlyTotals } = text;
  const { lines: beside, along, items } = tile;
  const inRows = axis === 'rows';
  // Cell n of the workgroup's cells in memory, and its place in workgroup memory, where a thread's cells have padding.
  const order = (k: number): string => `let n${k} = ${k * beside * along}u + t;`;
  const placed = (k: number): string => `first + n${k} / ${along * items}u, begin, n${k} % ${along * items}u`;
  const at = (k: number): string => `t * ${items + 1}u + ${k}u`;
  const own: OwnCells = inRows
    ? { cell: (k) => `take_cell(${at(k)})`, keep: (k, result) => `put_cell(${at(k)}, ${result});` }
    : { cell: (k) => `e${k}`, keep: (k, result) => `keep(line, begin, w * ${items}u + ${k}u, ${result});` };
  const read = inRows
    ? `${lines(items, (k) => `${order(k)} let e${k} = element(${placed(k)});`)}
${lines(items, (k) => `put_cell(n${k} + n${k} / ${items}u, e${k});`)}
workgroupBarrier();`
    : lines(items, (k) => `let e${k} = element(line, begin, w * ${items}u + ${k}u);`);
  const write = `workgroupBarrier();
${lines(items, (k) => `keep(${placed(k)}, take_cell(n${k} + n${k} / ${items}u));`)}`;
  return `let part = ${GROUP_NUMBER} / ${sizes.strips};
if (part >= ${sizes.parts}) { return; }
let begin = part * ${along * items}u;
let first = (${GROUP_NUMBER} - part * ${sizes.strips}) * ${beside}u;
let w = ${inRows ? `t % ${along}u` : `t / ${beside}u`};
let line = first + ${inRows ? `t / ${along}u` : `t % ${beside}u`};
${read}
${scan(text, own)}
${inRows && !onlyTotals ? write : ''}`;
}

/** WGSL of the thread that has place `w` in the line of this thread. */
function emitThread({ axis, tile }: PartsText, w: string): string {
  return axis === 'rows' ? `t - w + (${w})` : `(${w}) * ${tile.lines}u + t % ${tile.lines}u`;
}

/** The steps of a scan by the threads along a line. In every step, threads read one half of workgroup memory. */
function stepsOf({ lines: beside, along }: LineTile): { readonly d: number; readonly half: string }[] {
  const steps = Array.from({ length: Math.log2(along) + 1 }, (_, d) => d);
  return steps.map((d) => ({ d, half: `${(d % 2) * beside * along}u` }));
}

function emitTotal({ sizes: { count } }: PartsText, w: number): string {
  return `if (w == ${w}u && line < ${count}) { write_total(part * ${count} + line, s); }`;
}

function emitPrefix({ sizes: { count } }: PartsText): string {
  return `prefix_of(part * ${count} + min(line, ${count} - 1u))`;
}

/**
 * WGSL of a scan with an exact monoid. Every thread folds its adjacent cells. The threads along a line scan these folds
 * in workgroup memory, by Sklansky's network: in every step, threads in the right half of a group add the total of the
 * left half. Then every thread scans its cells from what is before them.
 */
function emitScan(text: PartsText, { cell, keep }: OwnCells): string {
  const { tile, inclusive, hasPrefixes, onlyTotals } = text;
  const { along, items } = tile;
  const steps = stepsOf(tile);
  const last = steps.pop()!;
  const add = ({ d, half }: (typeof steps)[number]): string => `put(${half} + t, s);
workgroupBarrier();
if ((w & ${1 << d}u) != 0u) { s = combine(take(${half} + ${emitThread(text, `((w >> ${d}u) << ${d}u) - 1u`)}), s); }`;
  const result = (k: number): string =>
    inclusive
      ? `before = combine(before, ${cell(k)}); ${keep(k, 'before')}`
      : `{ let e = ${cell(k)}; ${keep(k, 'before')} before = combine(before, e); }`;
  const write = `put(${last.half} + t, s);
workgroupBarrier();
var before = identity();
if (w > 0u) { before = take(${last.half} + ${emitThread(text, 'w - 1u')}); }
${hasPrefixes ? `before = combine(${emitPrefix(text)}, before);` : ''}
${lines(items, result)}`;
  return `var s = ${cell(0)};
${lines(items - 1, (k) => `s = combine(s, ${cell(k + 1)});`)}
${steps.map(add).join('\n')}
${onlyTotals ? emitTotal(text, along - 1) : write}`;
}

/**
 * WGSL of a scan of a block of the combination tree (`combination-tree.ts`). Every thread folds its quads, and joins them
 * as far as they are neighbours; then threads join theirs. Every thread has the total of its group. Where groups are
 * joined, the prefixes of quads in the right half gain the total of the left half, and an empty right half is skipped.
 */
function emitTree(text: PartsText, { cell, keep }: OwnCells): string {
  const { tile, sizes, inclusive, hasPrefixes, onlyTotals } = text;
  const { along, items } = tile;
  const quads = Array.from({ length: items / QUAD }, (_, q) => q);
  const steps = stepsOf(tile).slice(0, -1);
  const quad = (q: number): string => {
    const cells = Array.from({ length: QUAD }, (_, k) => QUAD * q + k);
    const folds = cells.map((k) => `let l${k} = ${k % QUAD === 0 ? cell(k) : `combine(l${k - 1}, ${cell(k)})`};`);
    const ends = cells.slice(0, -1).map((k) => `if (room <= own + ${k + 1}u) { s${q} = l${k}; }`);
    return `${folds.join(' ')}
var s${q} = l${QUAD * q + 3}; ${ends.reverse().join(' ')} var p${q} = s${q};`;
  };
  const inside: string[] = [];
  for (let half = 1; half < quads.length; half *= 2) {
    for (const q of quads.filter((q) => q % (2 * half) === 0)) {
      for (let k = q + half; k < q + 2 * half; k++) {
        inside.push(`p${k} = ${k === q + half ? `s${q}` : `combine(s${q}, p${k})`};`);
      }
      inside.push(`if (own + ${QUAD * (q + half)}u < room) { s${q} = combine(s${q}, s${q + half}); }`);
    }
  }
  const join = ({ d, half }: (typeof steps)[number]): string => `put(${half} + t, s);
workgroupBarrier();
{
  let group = (w >> ${d}u) << ${d}u; let is_right = ((w >> ${d}u) & 1u) == 1u;
  let other = take(${half} + ${emitThread(text, `select(group + ${1 << d}u, group - ${1 << d}u, is_right)`)});
  if (is_right) {
    if (w == group) { p0 = other; } else { p0 = combine(other, p0); }
    ${quads
      .slice(1)
      .map((q) => `p${q} = combine(other, p${q});`)
      .join(' ')}
    s = combine(other, s);
  } else if ((group + ${1 << d}u) * ${items}u < room) { s = combine(s, other); }
}`;
  const result = (q: number): string => `{
  var any = ${q === 0 ? 'w > 0u' : 'true'}; var before = p${q};
  ${hasPrefixes ? 'if (part > 0u) { if (any) { before = combine(earlier, before); } else { before = earlier; } any = true; }' : ''}
  var x = before; if (!any) { x = identity(); }
  ${Array.from({ length: QUAD }, (_, k) => QUAD * q + k)
    .map((k) => `{ var y = l${k}; if (any) { y = combine(before, y); } ${keep(k, inclusive ? 'y' : 'x')} x = y; }`)
    .join('\n  ')}
}`;
  const write = `${hasPrefixes ? `let earlier = ${emitPrefix(text)};` : ''}
${quads.map(result).join('\n')}`;
  return `let room = min(${sizes.length} - begin, ${along * items}u);
let own = w * ${items}u;
${quads.map(quad).join('\n')}
${inside.join('\n')}
var s = s0;
${steps.map(join).join('\n')}
${onlyTotals ? emitTotal(text, 0) : write}`;
}
