import { capacityOf, type MonoidProgram, type ScanCommand } from '../../../../primitives/contract/backend.ts';
import { addsFlags, combineGraph } from '../../../analyses/monoid-shapes.ts';
import { type Subgroups, widthOf } from '../../device/device.ts';
import { type Engine, type KernelText, launch } from '../../launches/engine.ts';
import { GROUP_NUMBER, lengthExpression, parameter } from '../../launches/parameters.ts';
import type { Silence } from '../../tuning/silence.ts';
import type { LookBackTuning } from '../../tuning/tuning.ts';
import type { Shader } from '../../wgsl/emit-wgsl.ts';
import { isLight } from '../../wgsl/module-size.ts';
import { linkCell } from '../shared/destination.ts';
import { lines } from '../shared/lines.ts';
import {
  AGGREGATE,
  emitLookBack,
  emitSpine,
  INCLUSIVE,
  type LookBackText,
  lookBackDeclarations,
  spineWords,
} from '../shared/look-back.ts';
import { emitEvaluation, emitMonoid, emitSharedStates, emitStateStore, monoidKey } from '../shared/record.ts';
import type { KernelSource } from '../shared/source.ts';
import { emitLaneFunctions, forDistances, laneSets } from '../shared/subgroups.ts';
import type { IndexRange } from '../shared/windows.ts';
import { emitNumbering, MAX_LANES, MAX_RUN, numberedRows } from './numbered-rows.ts';
import { codeRuns } from './run-code.ts';
import { flagRows, type ScanRows, stateRows } from './scan-rows.ts';
import { type BoundScan, bindScan, type KeptRows, keptRows, type Sink } from './scan-sink.ts';

/**
 * Number of storage buffers that the kernel binds in addition to the buffers of the program and the sink: the spine
 * (memory in which tiles publish prefixes) and the total.
 */
export const LOOK_BACK_BINDINGS = 2;

/** How a workgroup scans its tile. */
export interface LookBackTile {
  readonly threads: number;
  /**
   * `items` is the number of elements per thread. They form runs of `run` adjacent elements. A row consists of one run
   * of every lane of a subgroup.
   */
  readonly items: number;
  readonly run: number;
  readonly elements: number;
  /** Whether elements are flags and the scan counts them. */
  readonly flags: boolean;
  /** For segmented scans whose heads are held as bits: the monoid that combines the values within a segment. */
  readonly runs: MonoidProgram | undefined;
  /**
   * Whether the code of an element is short enough to be repeated in the kernel. One of the copies processes complete
   * tiles and has no checks for the end.
   */
  readonly light: boolean;
}

/** Maximum number of elements per thread if the code of an element is long. */
const FEW = 4;

/**
 * Chooses the tile for a scan. A thread holds a state in registers for every element (flags and heads are only bits). A
 * thread therefore gets fewer elements if states have many leaves (scalar components) or the code is long. States of
 * several leaves are expensive to move between lanes, so a thread gets runs of adjacent elements for such states. Scans
 * that store results at the launch index are an exception, because adjacent elements would scatter these stores.
 */
export function lookBackTile(
  { tuning: { scan }, subgroups, threads: maxThreads }: Engine,
  { extent, program, monoid, emit, stores, form }: ScanCommand,
): LookBackTile {
  const leaves = monoid.types.length;
  const light = isLight(program.module) && isLight(emit.module);
  const flags = form?.kind === 'compact' || addsFlags(program.module, monoid);
  const dense = stores.some(({ index }) => index === undefined);
  const fits = 2 ** Math.floor(Math.log2(Math.max(1, (2 * scan.words) / leaves)));
  const run = leaves === 1 || dense ? 1 : Math.min(scan.run, fits, light ? MAX_RUN : FEW);
  const runs = run > 1 && subgroups!.max <= MAX_LANES && form?.kind === 'runs' ? straightRuns(form.inner) : undefined;
  const threads = runs ? Math.min(scan.heads.threads, maxThreads) : scan.threads;
  const states = Math.floor(runs ? scan.heads.words / (leaves - 1) : scan.words / leaves);
  const ofFlags = stores.length > 1 ? scan.flagsOfSeveral : scan.flags;
  const max = flags ? ofFlags : Math.min(scan.items, states);
  const enough = 2 ** Math.ceil(Math.log2(capacityOf(extent) / threads / scan.tiles));
  const items = Math.max(1, Math.floor(Math.min(light ? max : FEW, Math.max(8, enough)) / run)) * run;
  return { threads, items, run, elements: threads * items, flags, runs, light };
}

/** Returns the monoid if it is straight-line code. */
function straightRuns(inner: MonoidProgram): MonoidProgram | undefined {
  return combineGraph(inner).results === undefined ? undefined : inner;
}

/**
 * Number of states in workgroup memory: one total per subgroup, and the prefix of the tile. Subgroups have at least 4
 * lanes.
 */
function statesOf(threads: number): number {
  return threads / 4 + 1;
}

/** Scans with an exact monoid in one launch, in which every element is evaluated once. */
export function scanByLookBack(
  engine: Engine,
  { extent, monoid, total, form }: ScanCommand,
  source: KernelSource,
  sink: Sink,
  window: IndexRange,
  tile: LookBackTile,
): void {
  const { spine, tuning } = engine;
  const { types } = monoid;
  const { parameters, length } = source;
  const cell = total === undefined ? undefined : linkCell(parameters, total, types.length);
  const tiles = Math.max(1, Math.ceil(capacityOf(extent) / tile.elements));
  const bound = bindScan(source, sink, window);
  const { bindings } = bound;
  const { rows, functions: ofRows, key } = rowsFor(engine, monoid, source, sink, keptRows(sink, form), bound, tile);
  const run = spine.begin(spineWords(tiles, types));
  const slot = bindings.bind(run.memory, 'spine');
  const out = cell === undefined ? undefined : bindings.bind(cell.memory, 'write', cell.cell!.first, cell.cell!.count);
  const text = (shader: Shader): KernelText => {
    const functions = bound.code(shader);
    const writeTotal = (state: string): string =>
      cell === undefined ? '' : `write_total(${parameter(cell.cell!.word)}, ${state});`;
    const { tries, mute }: LookBackTuning & Silence = tuning.scan;
    const { max } = engine.subgroups!;
    const lookBack: LookBackText = { types, slot, max, tries, mute };
    return {
      threads: tile.threads,
      subgroups: true,
      declarations: `${emitMonoid(monoid, shader)}
${functions}
${emitEvaluation(source.program)}
${out === undefined ? '' : emitStateStore('write_total', out, parameter(cell!.strideWord), types)}
${emitSharedStates(types, statesOf(tile.threads))}
${emitLaneFunctions(types, widthOf(engine.subgroups!))}
${ofRows(shader)}
${lookBackDeclarations}
${laneSets(max).functions}
${emitSpine(lookBack)}
${emitAggregate(tile)}
${emitFold(tile, engine.subgroups!)}`,
      main: emitTile(tile, rows, lookBack, lengthExpression(length), writeTotal),
    };
  };
  launch(engine, {
    key: `look back ${monoidKey(monoid)} ${bound.key} ${key} ${JSON.stringify(tuning.scan)} ${tile.items} ${tile.run} ${tile.flags} ${tile.light} ${slot} ${out} ${cell?.cell?.word} ${length.raw}`,
    bindings,
    code: text,
    groups: tiles,
    run,
  });
}

/**
 * WGSL that scans the rows of a tile, and the functions that it calls. Together with the keys of the scan and the tile,
 * `key` identifies this WGSL for the cache of pipelines.
 */
function rowsFor(
  engine: Engine,
  monoid: MonoidProgram,
  source: KernelSource,
  sink: Sink,
  kept: KeptRows,
  bound: BoundScan,
  { items, run, flags, runs, light }: LookBackTile,
): { rows: ScanRows; functions(shader: Shader): string; key: string } {
  const { types } = monoid;
  const subgroups = engine.subgroups!;
  if (flags) {
    return { rows: flagRows(items, subgroups.max, kept), functions: () => '', key: kept };
  }
  const code = run > 1 && light ? codeRuns(monoid, source, sink, bound, { run, heads: runs !== undefined }) : undefined;
  return {
    rows: runs ? numberedRows(items, run, types, kept, code) : stateRows(items, run, types, kept, code),
    functions: (shader) => `${runs ? emitNumbering(runs, widthOf(subgroups), shader) : ''}
${code?.functions(shader) ?? ''}`,
    key: `${runs && monoidKey(runs)} ${code?.key}`,
  };
}

/**
 * WGSL of two functions. `element(i, n)` returns an element, or the identity if `i` is past the end.
 * `aggregate_of(tile, …)` returns the total of a tile; all threads of a workgroup must call it together.
 */
function emitAggregate({ threads, items, elements }: LookBackTile): string {
  return `fn element(i: u32, n: u32) -> S { var s = evaluate(min(i, n - 1u)); if (i >= n) { s = identity(); } return s; }
fn aggregate_of(tile: u32, n: u32, u: u32, sid: u32, lane: u32, sg: u32) -> S {
  var s = identity();
  for (var k = 0u; k < ${items}u; k++) { s = combine(s, element(tile * ${elements}u + u * ${items}u + k, n)); }
  s = lanes_up_to(s, lane, sg);
  if (lane == sg - 1u) { put(sid, s); }
  workgroupBarrier();
  return fold(${threads}u / sg, lane);
}`;
}

/**
 * WGSL of `fold(end, lane)`, which combines the totals of the first `end` subgroups; `end` is at least 1. If a subgroup
 * has enough lanes, each lane reads one total; otherwise, each lane reads all totals.
 */
function emitFold({ threads }: LookBackTile, subgroups: Subgroups): string {
  const width = widthOf(subgroups);
  const max = threads / subgroups.min;
  if (width !== undefined && max <= width && Number.isInteger(Math.log2(max))) {
    return `fn fold(end: u32, lane: u32) -> S {
  var s = take(min(lane, ${max - 1}u));
  ${forDistances(max, 'let other = lane_up(s, d); if (lane >= d) { s = combine(other, s); }')}
  return lane_at(s, end - 1u);
}`;
  }
  return `fn fold(end: u32, lane: u32) -> S {
  var s = identity();
  ${lines(max, (j) => `{ let x = take(${j}u); if (${j}u < end) { s = combine(s, x); } }`)}
  return s;
}`;
}

/**
 * WGSL that scans a tile. Every subgroup scans a part of the tile row by row, so that adjacent lanes read and write
 * adjacent elements without reordering in workgroup memory. The kernel uses little workgroup memory, so that many
 * workgroups run on a multiprocessor: some workgroups compute while others wait in the look-back. A thread's values are
 * separate variables, because an indexed array would not be kept in registers.
 */
function emitTile(
  { threads, items, run, elements, light }: LookBackTile,
  rows: ScanRows,
  lookBack: LookBackText,
  length: string,
  writeTotal: (state: string) => string,
): string {
  const { mute } = lookBack;
  const prefixPlace = `${threads / 4}u`;
  const publish = (state: string, value: string): string =>
    `if (lane == 0u${mute === undefined ? '' : ` && tile % ${mute}u != ${mute - 1}u`}) { publish(tile, ${state}, ${value}); }`;
  const found = `let all = combine(prefix, total);
if (tile > 0u) { ${publish(`${INCLUSIVE}u`, 'all')} }
if (lane == 0u) {
  put(${prefixPlace}, prefix);
  if (n - start <= ${elements}u) { ${writeTotal('all')} }
}`;
  // Most tiles are complete and need no checks for the end. If the code is long, the kernel contains it only once, with
  // these checks.
  const { inside } = rows;
  const whole = (fast: string, careful: string): string =>
    light ? `if (n - start >= ${elements}u) {\n${fast}\n} else {\n${careful}\n}` : careful;
  return `let tile = ${GROUP_NUMBER};
let n = ${length};
if (n == 0u && tile == 0u && t == 0u) { ${writeTotal('identity()')} }
if (tile > (n - 1u) / ${elements}u || n == 0u) { return; }
let u = sid * sg + lane;
let start = tile * ${elements}u;
let base = start + sid * sg * ${items}u;
let first = base + lane * ${run}u;
// Read.
${rows.declare}
${
  inside?.read ??
  whole(
    rows.read((at) => `evaluate(${at})`),
    rows.read((at) => `element(${at}, n)`),
  )
}
// Scan.
${rows.scan}
if (lane == sg - 1u) { put(sid, part); }
workgroupBarrier();
// The first subgroup computes the total of the tile. Every other subgroup computes the combination of those before it.
let total = fold(select(sid, ${threads}u / sg, sid == 0u), lane);
if (sid == 0u) { ${publish(`select(${AGGREGATE}u, ${INCLUSIVE}u, tile == 0u)`, 'total')} }
// Look back.
${emitLookBack(lookBack, found)}
// Write.
var outer = take(${prefixPlace});
if (sid > 0u) { outer = combine(outer, total); }
${inside?.write ?? whole(rows.write(''), rows.write('if (i < n) '))}`;
}
