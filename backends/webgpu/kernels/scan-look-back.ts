import { type Cell, capacityOf, type Extent, type MonoidProgram } from '../../../primitives/backend.ts';
import { widthOf } from '../device.ts';
import { type Engine, type KernelText, launch, placeParameters } from '../engine.ts';
import { GROUP_NUMBER, lengthExpression, parameter } from '../parameters.ts';
import type { Tuning } from '../tuning.ts';
import type { Helper } from '../wgsl-helpers.ts';
import {
  AGGREGATE,
  emitLookBack,
  emitSpine,
  INCLUSIVE,
  type LookBackText,
  lookBackDeclarations,
  spineWords,
} from './look-back.ts';
import { emitEvaluation, emitMonoid, emitSharedStates, emitStateStore, monoidKey } from './record.ts';
import { linkCell } from './reduce.ts';
import { bindScan, type Sink } from './scan-sink.ts';
import type { Source } from './source.ts';
import { emitLaneFunctions } from './subgroups.ts';
import type { Window } from './windows.ts';

/** Storage buffers that the kernel binds beside the program and the sink: the spine, and the total. */
export const LOOK_BACK_BINDINGS = 2;

/** The tile of a workgroup. */
export interface LookBackTile {
  readonly threads: number;
  /** Elements that a thread scans. */
  readonly items: number;
  readonly elements: number;
  /** Whether the code for an element is so short that whole tiles have their own, without looks at the end. */
  readonly light: boolean;
}

/** The tile for a monoid: a thread holds a state for every element, and of many leaves or long code so many fewer. */
export function lookBackTile({ scan }: Tuning, { types }: MonoidProgram, light: boolean): LookBackTile {
  const { threads, items: most, words } = scan;
  const items = Math.max(1, Math.min(light ? most : 4, Math.floor(words / types.length)));
  return { threads, items, elements: threads * items, light };
}

/** The totals of subgroups, which have 4 lanes at least, and the prefix of the tile. */
function statesOf(threads: number): number {
  return threads / 4 + 1;
}

/** Scans an exact monoid in one pass over the elements. */
export function scanByLookBack(
  engine: Engine,
  extent: Extent,
  monoid: MonoidProgram,
  source: Source,
  sink: Sink,
  window: Window,
  total: Cell | undefined,
  tile: LookBackTile,
): void {
  const { pool, spine, tuning } = engine;
  const { types } = monoid;
  const { parameters, length } = source;
  const cell =
    total === undefined ? undefined : linkCell(parameters, pool.resolve(total.buffer), total.word, types.length);
  const tiles = Math.max(1, Math.ceil(capacityOf(extent) / tile.elements));
  const { bindings, key, code } = bindScan(engine, source, sink, window);
  const run = spine.begin(spineWords(tiles, types));
  const slot = bindings.bind(run.memory, 'spine');
  const out = cell === undefined ? undefined : bindings.bind(cell.memory, 'write', cell.cell!.first, cell.cell!.count);
  const text = (): KernelText => {
    const helpers = new Set<Helper>();
    const functions = code(helpers);
    const writeTotal = (state: string): string =>
      cell === undefined ? '' : `write_total(${parameter(cell.cell!.word)}, ${state});`;
    const { tries, mute } = tuning.scan;
    const lookBack: LookBackText = { types, slot, tries, mute };
    return {
      threads: tile.threads,
      subgroups: true,
      helpers,
      declarations: `${emitMonoid(monoid, engine.arithmetic, helpers)}
${functions}
${emitEvaluation(source.program)}
${out === undefined ? '' : emitStateStore('write_total', out, parameter(cell!.strideWord), types)}
${emitSharedStates(types, statesOf(tile.threads))}
${emitLaneFunctions(types, widthOf(engine.subgroups!))}
${lookBackDeclarations}
${emitSpine(lookBack)}
${emitAggregate(tile)}`,
      main: emitTile(tile, lookBack, lengthExpression(length), writeTotal),
    };
  };
  launch(engine, {
    key: `look back ${monoidKey(monoid)} ${key} ${JSON.stringify(tuning.scan)} ${tile.items} ${tile.light} ${slot} ${out} ${cell?.cell?.word} ${length.raw}`,
    parameters,
    slot: placeParameters(engine, parameters),
    bindings,
    code: text,
    groups: tiles,
    words: [run.epoch],
  });
}

/** WGSL of `element(i, n)`, and of `aggregate_of(tile, …)`, which all threads of a workgroup call together. */
function emitAggregate({ threads, items, elements }: LookBackTile): string {
  return `fn element(i: u32, n: u32) -> S { var s = evaluate(min(i, n - 1u)); if (i >= n) { s = identity(); } return s; }
fn aggregate_of(tile: u32, n: u32, u: u32, sid: u32, lane: u32, sg: u32) -> S {
  var s = identity();
  for (var k = 0u; k < ${items}u; k++) { s = combine(s, element(tile * ${elements}u + u * ${items}u + k, n)); }
  s = lanes_up_to(s, lane, sg);
  if (lane == sg - 1u) { put(sid, s); }
  workgroupBarrier();
  return fold(${threads}u / sg);
}
// The combination of the totals of the first subgroups.
fn fold(end: u32) -> S {
  var s = identity();
  for (var j = 0u; j < end; j++) { s = combine(s, take(j)); }
  return s;
}`;
}

/**
 * The scan of a tile. Every subgroup has a run of it, and scans it row by row, an element a lane, so that what lies together
 * is read and written together and nothing has to change places: workgroup memory is what keeps multiprocessors from having
 * many workgroups, and many are needed for one to work while another looks back. What a thread holds are variables of their
 * own: an array that is indexed would go to memory.
 */
function emitTile(
  { threads, items, elements, light }: LookBackTile,
  lookBack: LookBackText,
  length: string,
  writeTotal: (state: string) => string,
): string {
  const { mute } = lookBack;
  const prefixPlace = `${threads / 4}u`;
  const each = (write: (j: number) => string): string => Array.from({ length: items }, (_, j) => write(j)).join('\n');
  const publish = (state: string, value: string): string =>
    `if (lane == 0u${mute === undefined ? '' : ` && tile % ${mute}u != ${mute - 1}u`}) { publish(tile, ${state}, ${value}); }`;
  const found = `let all = combine(prefix, total);
if (tile > 0u) { ${publish(`${INCLUSIVE}u`, 'all')} }
if (lane == 0u) {
  put(${prefixPlace}, prefix);
  if (n - start <= ${elements}u) { ${writeTotal('all')} }
}`;
  const write = (guard: string): string =>
    each((j) => {
      const next = j === items - 1 ? '' : `outer = combine(outer, lane_at(s${j}, sg - 1u));`;
      return `{ let i = first + ${j}u * sg; var before = combine(outer, lane_up(s${j}, 1u)); if (lane == 0u) { before = outer; } ${guard}{ consume(i, before, combine(outer, s${j})); } ${next} }`;
    });
  // Whole tiles are most of all; where code is long, one that looks at the end serves them too.
  const whole = (fast: string, careful: string): string =>
    light ? `if (n - start >= ${elements}u) {\n${fast}\n} else {\n${careful}\n}` : careful;
  return `let tile = ${GROUP_NUMBER};
let n = ${length};
if (n == 0u && tile == 0u && t == 0u) { ${writeTotal('identity()')} }
if (tile > (n - 1u) / ${elements}u || n == 0u) { return; }
let u = sid * sg + lane;
let start = tile * ${elements}u;
let first = start + sid * sg * ${items}u + lane;
// Read.
${each((j) => `var s${j}: S;`)}
${whole(
  each((j) => `s${j} = evaluate(first + ${j}u * sg);`),
  each((j) => `s${j} = element(first + ${j}u * sg, n);`),
)}
// Scan rows, and fold them: the last lane has their totals.
${each((j) => `s${j} = lanes_up_to(s${j}, lane, sg);`)}
var rows = s0;
${each((j) => (j === 0 ? '' : `rows = combine(rows, s${j});`))}
if (lane == sg - 1u) { put(sid, rows); }
workgroupBarrier();
// The first subgroup needs the total of the tile, the others what is before them.
let total = fold(select(sid, ${threads}u / sg, sid == 0u));
if (sid == 0u) { ${publish(`select(${AGGREGATE}u, ${INCLUSIVE}u, tile == 0u)`, 'total')} }
// Look back.
${emitLookBack(lookBack, found)}
// Write.
var outer = take(${prefixPlace});
if (sid > 0u) { outer = combine(outer, total); }
${whole(write(''), write('if (i < n) '))}`;
}
