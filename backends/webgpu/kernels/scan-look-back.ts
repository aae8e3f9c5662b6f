import { type Cell, capacityOf, type Extent, type MonoidProgram } from '../../../primitives/backend.ts';
import { type Engine, type KernelText, launch, placeParameters } from '../engine.ts';
import { lengthExpression, parameter } from '../parameters.ts';
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
  /** Groups of 4 elements that a thread holds. */
  readonly quads: number;
  readonly elements: number;
}

/** Tiles are smaller where large states fill registers, and where what is written out for every element is not light. */
export function lookBackTile(
  { scan: { threads, quads: most } }: Tuning,
  { types }: MonoidProgram,
  light: boolean,
): LookBackTile {
  const quads = light ? Math.max(1, Math.floor(most / types.length)) : 1;
  return { threads, quads, elements: threads * 4 * quads };
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
${emitSharedStates(types, tile.threads / 4 + 1)}
${emitLaneFunctions(types)}
${lookBackDeclarations}
${emitSpine(lookBack)}
${emitAggregate(tile)}`,
      main: emitTile(tile, lookBack, lengthExpression(length), writeTotal),
    };
  };
  const counts = launch(engine, {
    key: `look back ${monoidKey(monoid)} ${key} ${JSON.stringify(tuning.scan)} ${tile.quads} ${slot} ${out} ${cell?.cell?.word} ${length.raw}`,
    parameters,
    slot: placeParameters(engine, parameters),
    bindings,
    code: text,
    groups: tiles,
    words: [run.epoch, run.counted],
  });
  spine.end(counts);
}

/** WGSL of `element(i, n)`, and of `aggregate_of(tile, …)`, which all threads of a workgroup call together. */
function emitAggregate({ threads, quads, elements }: LookBackTile): string {
  const items = 4 * quads;
  return `fn element(i: u32, n: u32) -> S { var s = evaluate(min(i, n - 1u)); if (i >= n) { s = identity(); } return s; }
fn aggregate_of(tile: u32, n: u32, u: u32, sid: u32, lane: u32, sg: u32) -> S {
  var s = identity();
  for (var k = 0u; k < ${items}u; k++) { s = combine(s, element(tile * ${elements}u + u * ${items}u + k, n)); }
  s = lanes_up_to(s, lane, sg);
  if (lane == sg - 1u) { put(sid, s); }
  workgroupBarrier();
  return fold(0u, ${threads}u / sg);
}
// The combination of the totals of subgroups.
fn fold(first: u32, end: u32) -> S {
  var s = identity();
  for (var j = first; j < end; j++) { s = combine(s, take(j)); }
  return s;
}`;
}

/**
 * The scan of a tile. Every subgroup has a run of the tile; its lanes hold groups of 4 elements side by side, so that
 * what a subgroup reads at a time lies together. What a thread holds are variables of their own: an array that is
 * indexed would go to memory.
 */
function emitTile(
  { threads, quads: count, elements: tile }: LookBackTile,
  lookBack: LookBackText,
  length: string,
  writeTotal: (state: string) => string,
): string {
  const { mute } = lookBack;
  const quads = Array.from({ length: count }, (_, k) => k);
  const prefixPlace = `${threads / 4}u`;
  const publish = (state: string, value: string): string =>
    `if (lane == 0u${mute === undefined ? '' : ` && tile % ${mute}u != ${mute - 1}u`}) { publish(tile, ${state}, ${value}); }`;
  return `if (t == 0u) { found_missing = count_tile(); }
let tile = workgroupUniformLoad(&found_missing);
let n = ${length};
if (n == 0u && tile == 0u && t == 0u) { ${writeTotal('identity()')} }
if (tile * ${tile}u >= n) { return; }
let u = sid * sg + lane;
let start = tile * ${tile}u + sid * sg * ${4 * count}u;
${quads.map((k) => [0, 1, 2, 3].map((c) => `let e${k}${c} = element(start + (${k}u * sg + lane) * 4u + ${c}u, n);`).join(' ')).join('\n')}
var carry = identity();
${quads.map((k) => scanQuad(k)).join('\n')}
if (lane == 0u) { put(sid, carry); }
workgroupBarrier();
let earlier = fold(0u, sid);
var total = identity();
if (sid == 0u) {
  total = fold(0u, ${threads}u / sg);
  ${publish(`select(${AGGREGATE}u, ${INCLUSIVE}u, tile == 0u)`, 'total')}
}
workgroupBarrier();
${emitLookBack(lookBack)}
if (sid == 0u) {
  let all = combine(prefix, total);
  ${publish(`${INCLUSIVE}u`, 'all')}
  if (lane == 0u) {
    put(${prefixPlace}, prefix);
    if (n - tile * ${tile}u <= ${tile}u) { ${writeTotal('all')} }
  }
}
workgroupBarrier();
let outer = combine(take(${prefixPlace}), earlier);
${quads.map((k) => consumeQuad(k)).join('\n')}`;
}

/** Scans the quad of a thread, and those of its subgroup: `p` is what is before it in the subgroup's run. */
function scanQuad(k: number): string {
  return `let l${k}0 = e${k}0; let l${k}1 = combine(l${k}0, e${k}1); let l${k}2 = combine(l${k}1, e${k}2); let l${k}3 = combine(l${k}2, e${k}3);
let sum${k} = lanes_up_to(l${k}3, lane, sg);
var p${k} = lane_up(sum${k}, 1u);
if (lane == 0u) { p${k} = carry; } else { p${k} = combine(carry, p${k}); }
carry = combine(carry, lane_at(sum${k}, sg - 1u));`;
}

function consumeQuad(k: number): string {
  const element = (c: number): string =>
    `if (i${k} + ${c}u < n) { let y = combine(b${k}, l${k}${c}); consume(i${k} + ${c}u, x${k}, y); x${k} = y; }`;
  return `let i${k} = start + (${k}u * sg + lane) * 4u;
let b${k} = combine(outer, p${k});
var x${k} = b${k};
${[0, 1, 2, 3].map(element).join('\n')}`;
}
