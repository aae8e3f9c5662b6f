import { type Cell, capacityOf, type Extent, type MonoidProgram } from '../../../primitives/backend.ts';
import { widthOf } from '../device.ts';
import { type Engine, type KernelText, launch, placeParameters } from '../engine.ts';
import { GROUP_NUMBER, lengthExpression, parameter } from '../parameters.ts';
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
  /** Elements that a thread scans: a power of two, so that they lie between two gaps of the exchange. */
  readonly items: number;
  readonly elements: number;
  /** Whether the code for an element is so short that whole tiles have their own, without looks at the end. */
  readonly light: boolean;
}

/** The largest tile whose states fit the memory of a workgroup; of few elements a thread where their code is not light. */
export function lookBackTile(
  { tuning, shared }: Pick<Engine, 'tuning' | 'shared'>,
  { types }: MonoidProgram,
  light: boolean,
): LookBackTile | undefined {
  const { threads, items: most } = tuning.scan;
  const fits = (items: number): boolean =>
    items <= (light ? most : 4) &&
    4 * types.length * (exchangeWords(threads * items) + totalsOf(threads)) + 8 <= shared;
  const items = [32, 16, 8, 4].find(fits);
  return items === undefined ? undefined : { threads, items, elements: threads * items, light };
}

/** The totals of subgroups, which have 4 lanes at least, and the prefix of the tile. */
function totalsOf(threads: number): number {
  return threads / 4 + 1;
}

/** A gap after every 32 elements, and one element more, for the prefix before the first. */
function exchangeWords(elements: number): number {
  return elements + elements / 32 + 1;
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
${emitSharedStates(types, totalsOf(tile.threads))}
${emitExchange(types, tile.elements)}
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
 * The scan of a tile. What lies together is read together, and handed over to the threads that scan it, each a run of the
 * tile; the prefixes within the tile are handed back while the first subgroup looks back, and what lies together is written
 * together. What a thread holds are variables of their own: an array that is indexed would go to memory.
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
  const striped = (j: number): string => `${j * threads}u + u`;
  const blocked = (j: number): string => `u * ${items}u + ${j}u`;
  const publish = (state: string, value: string): string =>
    `if (lane == 0u${mute === undefined ? '' : ` && tile % ${mute}u != ${mute - 1}u`}) { publish(tile, ${state}, ${value}); }`;
  const found = `let all = combine(prefix, total);
if (tile > 0u) { ${publish(`${INCLUSIVE}u`, 'all')} }
if (lane == 0u) {
  put(${prefixPlace}, prefix);
  if (n - start <= ${elements}u) { ${writeTotal('all')} }
}`;
  const read = (element: (j: number) => string): string =>
    `${each((j) => `let s${j} = ${element(j)};`)}\n${each((j) => `hand(${striped(j)}, s${j});`)}`;
  const write = (guard: string): string =>
    each(
      (j) =>
        `{ let e = ${striped(j)}; let i = start + e; ${guard}{ consume(i, combine(outer, handed(e)), combine(outer, handed(e + 1u))); } }`,
    );
  // Whole tiles are most of all; where code is long, one that looks at the end serves them too.
  const whole = (fast: string, careful: string): string =>
    light ? `if (n - start >= ${elements}u) {\n${fast}\n} else {\n${careful}\n}` : careful;
  return `let tile = ${GROUP_NUMBER};
let n = ${length};
if (n == 0u && tile == 0u && t == 0u) { ${writeTotal('identity()')} }
if (tile > (n - 1u) / ${elements}u || n == 0u) { return; }
let u = sid * sg + lane;
let start = tile * ${elements}u;
// Read, and hand over.
${whole(
  read((j) => `evaluate(start + ${striped(j)})`),
  read((j) => `element(start + ${striped(j)}, n)`),
)}
workgroupBarrier();
// Scan.
${each((j) => (j === 0 ? `let l0 = handed(${blocked(0)});` : `let l${j} = combine(l${j - 1}, handed(${blocked(j)}));`))}
let sum = lanes_up_to(l${items - 1}, lane, sg);
var before = lane_up(sum, 1u);
if (lane == 0u) { before = identity(); }
if (lane == sg - 1u) { put(sid, sum); }
workgroupBarrier();
var total = identity();
if (sid == 0u) {
  total = fold(0u, ${threads}u / sg);
  ${publish(`select(${AGGREGATE}u, ${INCLUSIVE}u, tile == 0u)`, 'total')}
}
// Hand back, one place on, so that what is before an element lies beside it.
let own = combine(fold(0u, sid), before);
if (u == 0u) { hand(0u, identity()); }
${each((j) => `hand(${blocked(j)} + 1u, combine(own, l${j}));`)}
// Look back.
${emitLookBack(lookBack, found)}
// Write.
let outer = take(${prefixPlace});
${whole(write(''), write('if (i < n) '))}`;
}

/** A gap after every 32 elements: threads that each have a run of 4, 8, 16 or 32 then never wait for the same bank. */
function emitExchange(types: MonoidProgram['types'], elements: number): string {
  const arrays = types.map((type, leaf) => `var<workgroup> x${leaf}: array<${type}, ${exchangeWords(elements)}>;`);
  const hand = types.map((_, leaf) => `x${leaf}[at] = s.a${leaf};`);
  const handed = types.map((_, leaf) => `x${leaf}[at]`);
  return `${arrays.join('\n')}
fn hand(place: u32, s: S) { let at = place + (place >> 5u); ${hand.join(' ')} }
fn handed(place: u32) -> S { let at = place + (place >> 5u); return S(${handed.join(', ')}); }`;
}
