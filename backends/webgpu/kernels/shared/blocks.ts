import { BLOCK, QUAD } from '../../../../primitives/contract/combination-tree.ts';
import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { widthOf } from '../../device/device.ts';
import type { Engine } from '../../launches/engine.ts';
import { dispatchWord, GROUP_NUMBER, type LengthWords, lengthExpression } from '../../launches/parameters.ts';
import type { Tuning } from '../../tuning/tuning.ts';
import { lines } from './lines.ts';
import { emitSharedStates } from './record.ts';
import { emitLaneFunctions } from './subgroups.ts';

/**
 * Kernels over the blocks of the canonical combination tree, each in two forms with the same result. In one, a
 * workgroup processes several blocks, with one thread for a quad of each. In the other, a thread processes a block
 * alone, for devices on which barriers are expensive.
 *
 * Callers provide the WGSL of `evaluate(i) -> S`, `combine(a, b)` and `identity()`, and of what to do with results.
 */

const QUADS = BLOCK / QUAD;
const LEVELS = Math.log2(QUADS);
/** Threads of a workgroup in which every thread has its own block. */
const LONE_THREADS = 4;

/** The form of a kernel over blocks. */
export interface BlockForm {
  readonly by: Tuning['blockBy'];
  /** Blocks of a workgroup whose threads cooperate: the loads of all these blocks overlap. */
  readonly rows: number;
  /** The size of all subgroups; undefined if subgroups are not used. */
  readonly lanes: number | undefined;
}

/**
 * The form for states of `leaves` leaves. Large states fill registers and workgroup memory. The evaluation is repeated
 * 4 times a row in the code, so it should be light.
 */
export function blockForm({ tuning, subgroups }: Engine, leaves: number, light: boolean): BlockForm {
  const { blockBy: by, blockRows } = tuning;
  if (by === 'thread') return { by, rows: 1, lanes: undefined };
  return {
    by,
    rows: light ? Math.max(1, Math.floor(blockRows / leaves)) : 1,
    lanes: subgroups && widthOf(subgroups),
  };
}

/** Number of blocks of a workgroup. */
export function blocksPerGroup({ by, rows }: BlockForm): number {
  return by === 'workgroup' ? rows : LONE_THREADS;
}

export function blockThreads({ by }: BlockForm): number {
  return by === 'workgroup' ? QUADS : LONE_THREADS;
}

/** The number of elements of every level, starting with `capacity`; the last level is a single block. */
export function levelsOf(capacity: number): number[] {
  const levels = [capacity];
  while (levels.at(-1)! > BLOCK) levels.push(Math.ceil(levels.at(-1)! / BLOCK));
  return levels;
}

/** WGSL of the number of elements at a level: the extent, divided by the size of a block `level` times. */
export function emitLevelLength(length: LengthWords, level: number): string {
  let expression = lengthExpression(length);
  for (let round = 0; round < level; round++) expression = `blocks_of(${expression})`;
  return `fn blocks_of(n: u32) -> u32 { return (n >> ${Math.log2(BLOCK)}u) + select(0u, 1u, (n & ${BLOCK - 1}u) != 0u); }
fn level_length() -> u32 { return ${expression}; }`;
}

/** The workgroup memory and the functions that both forms need. */
export function emitBlockFunctions({ by, rows, lanes }: BlockForm, types: readonly ScalarType[]): string {
  const shared = by === 'workgroup' ? emitSharedStates(types, QUADS * rows) : '';
  return `${shared}
${lanes === undefined ? '' : emitLaneFunctions(types, lanes)}
fn quads_of(block: u32, n: u32) -> u32 {
  let first = min(n, block * ${BLOCK}u);
  return (min(${BLOCK}u, n - first) + 3u) / 4u;
}`;
}

/** WGSL statements for a level with a single block, given its total. */
type WithTotal = ((state: string) => string) | undefined;

/** WGSL statements that write the total of a block, given the index of the block. */
type WriteTotal = (block: string, state: string) => string;

/** Determines the thread's block and returns from threads without one. Without elements the total is the identity. */
function emitStart({ by, rows, lanes }: BlockForm, whole: WithTotal): string {
  const alone = by === 'thread';
  const block = alone ? `${GROUP_NUMBER} * ${LONE_THREADS}u + t` : `${GROUP_NUMBER} * ${rows}u`;
  return `let n = min(level_length(), ${dispatchWord(1)});
let u = ${lanes === undefined ? 't' : 'sid * sg + lane'};
let block = ${dispatchWord(0)} + ${block};
${whole === undefined ? '' : `if ((n == 0u) & (${alone ? 'block' : 'u'} == 0u)) { ${whole('identity()')} }`}
if (block * ${BLOCK}u >= n) { return; }`;
}

/** Writes the total of every block. */
export function emitBlockTotals(form: BlockForm, write: WriteTotal, whole: WithTotal): string {
  const totals = form.by === 'workgroup' ? totalsByWorkgroup(form, write) : totalsByThread(write);
  return `${emitStart(form, whole)}\n${totals}`;
}

const forRows = ({ rows }: BlockForm, line: (row: number) => string): string => lines(rows, line);

/** Loads the elements of a quad of a row as if the quad were complete, and determines which quads the row has. */
function emitQuad(row: number): string {
  const load = (k: number): string => `let e${row}${k} = evaluate(min(first${row} + ${k}u, n - 1u));`;
  return `let quads${row} = quads_of(block + ${row}u, n);
let first${row} = (block + ${row}u) * ${BLOCK}u + u * 4u;
${[0, 1, 2, 3].map(load).join(' ')}`;
}

/** Levels of the tree within a subgroup, and levels above. */
function splitLevels({ lanes }: BlockForm): { readonly within: readonly number[]; readonly above: readonly number[] } {
  const levels = Array.from({ length: LEVELS }, (_, d) => d);
  const inside = lanes === undefined ? 0 : Math.log2(lanes);
  return { within: levels.slice(0, inside), above: levels.slice(inside) };
}

/** The groups double in size from level to level; an empty right half is skipped. */
function totalsByWorkgroup(form: BlockForm, write: WriteTotal): string {
  const { within, above } = splitLevels(form);
  const active = (row: number, d: number): string => `((u & ${(2 << d) - 1}u) == 0u) & (u + ${1 << d}u < quads${row})`;
  const inLanes = (d: number): string =>
    forRows(
      form,
      (row) =>
        `{ let right = lane_down(s${row}, ${1 << d}u); if (${active(row, d)}) { s${row} = combine(s${row}, right); } }`,
    );
  const inMemory = (d: number): string =>
    `${forRows(form, (row) => `put(${row * QUADS}u + u, s${row});`)}
workgroupBarrier();
${forRows(form, (row) => `if (${active(row, d)}) { s${row} = combine(s${row}, take(${row * QUADS + (1 << d)}u + u)); }`)}
workgroupBarrier();`;
  return `${forRows(form, emitQuad)}
${forRows(
  form,
  (row) => `var s${row} = e${row}0;
${[1, 2, 3].map((k) => `if (first${row} + ${k}u < n) { s${row} = combine(s${row}, e${row}${k}); }`).join(' ')}`,
)}
${within.map(inLanes).join('\n')}
${above.map(inMemory).join('\n')}
if (u == 0u) {
${forRows(form, (row) => `if (quads${row} > 0u) { ${write(`block + ${row}u`, `s${row}`)} }`)}
}`;
}

/** `stack[d]` is the total of the 2^d quads for bit d of the number of quads processed so far. */
function totalsByThread(write: WriteTotal): string {
  return `let quads = quads_of(block, n);
var stack: array<S, ${LEVELS + 1}>;
for (var q = 0u; q < quads; q++) {
  let first = block * ${BLOCK}u + q * 4u;
  var s = evaluate(first);
  for (var k = 1u; k < 4u; k++) { if (first + k < n) { s = combine(s, evaluate(first + k)); } }
${pushOnStack}
}
${foldStack('quads', 'total')}
${write('block', 'total')}`;
}

const pushOnStack = `  var d = 0u;
  loop {
    if (((q >> d) & 1u) == 0u) { break; }
    s = combine(stack[d], s);
    d++;
  }
  stack[d] = s;`;

/** Combines the stack after `quads` quads, the smallest groups first, each new group on the left. */
function foldStack(quads: string, name: string): string {
  return `var ${name}: S; var any_${name} = false;
for (var e = 0u; e <= ${LEVELS}u; e++) {
  if (((${quads} >> e) & 1u) == 1u) {
    if (any_${name}) { ${name} = combine(stack[e], ${name}); } else { ${name} = stack[e]; any_${name} = true; }
  }
}`;
}

/** WGSL of the prefix before a block, given the index of the block; undefined if there is only one block. */
type Before = ((block: string) => string) | undefined;

/** Calls `consume(i, exclusive, inclusive)` for every element. */
export function emitBlockScan(form: BlockForm, before: Before, whole: WithTotal): string {
  const scan = form.by === 'workgroup' ? scanByWorkgroup(form, before, whole) : scanByThread(before, whole);
  return `${emitStart(form, whole)}\n${scan}`;
}

/** Combines the prefix before a block with `prefix` on its right; `prefix` is only valid if `any` is true. */
function emitBefore(before: Before, block: string): string {
  if (before === undefined) return '';
  return `if (${block} > 0u) {
  let earlier = ${before(block)};
  if (any) { prefix = combine(earlier, prefix); } else { prefix = earlier; }
  any = true;
}`;
}

/**
 * Sklansky's network: every thread holds the total of its aligned group of quads, and the first thread of a group
 * passes that total to the neighbouring group.
 */
function scanByWorkgroup(form: BlockForm, before: Before, whole: WithTotal): string {
  const { within, above } = splitLevels(form);
  const inLanes = (d: number): string => `{
let group = (u >> ${d}u) << ${d}u; let right = ((u >> ${d}u) & 1u) == 1u;
let lender = select(group + ${1 << d}u, group - ${1 << d}u, right) & ${(form.lanes ?? 1) - 1}u;
${forRows(form, (row) => `let other${row} = lane_at(s${row}, lender); ${joinGroups(row, d, `other${row}`)}`)}
}`;
  const inMemory = (d: number): string => `{
let group = (u >> ${d}u) << ${d}u; let right = ((u >> ${d}u) & 1u) == 1u;
let lender = select(group + ${1 << d}u, group - ${1 << d}u, right) & ${QUADS - 1}u;
${forRows(form, (row) => `put(${row * QUADS}u + u, s${row});`)}
workgroupBarrier();
${forRows(form, (row) => joinGroups(row, d, `take(${row * QUADS}u + lender)`))}
workgroupBarrier();
}`;
  return `${forRows(form, emitQuad)}
${forRows(
  form,
  (
    row,
  ) => `let l${row}0 = e${row}0; ${[1, 2, 3].map((k) => `let l${row}${k} = combine(l${row}${k - 1}, e${row}${k});`).join(' ')}
var s${row} = l${row}3;
${[2, 1, 0].map((k) => `if (first${row} + ${k + 1}u >= n) { s${row} = l${row}${k}; }`).join(' ')}
var prefix${row} = s${row};`,
)}
${within.map(inLanes).join('\n')}
${above.map(inMemory).join('\n')}
${whole === undefined ? '' : `if (u == 0u) { ${whole('s0')} }`}
${forRows(form, (row) => consumeQuad(row, before))}`;
}

/** Joins the thread's group with its neighbour, whose total is `lent`; an empty right half is skipped. */
function joinGroups(row: number, d: number, lent: string): string {
  return `if (right) {
  let left = ${lent};
  if (u == group) { prefix${row} = left; } else { prefix${row} = combine(left, prefix${row}); }
  s${row} = combine(left, s${row});
} else if (group + ${1 << d}u < quads${row}) {
  s${row} = combine(s${row}, ${lent});
}`;
}

function consumeQuad(row: number, before: Before): string {
  const element = (k: number): string =>
    `if (first${row} + ${k}u < n) { var y = l${row}${k}; if (any) { y = combine(prefix, y); } consume(first${row} + ${k}u, x, y); x = y; }`;
  return `if (u < quads${row}) {
var any = u > 0u;
var prefix = prefix${row};
${emitBefore(before, `(block + ${row}u)`)}
var x = prefix;
if (!any) { x = identity(); }
${[0, 1, 2, 3].map(element).join('\n')}
}`;
}

function scanByThread(before: Before, whole: WithTotal): string {
  return `let quads = quads_of(block, n);
var stack: array<S, ${LEVELS + 1}>;
for (var q = 0u; q < quads; q++) {
  ${foldStack('q', 'prefix')}
  var any = any_prefix;
  ${emitBefore(before, 'block')}
  var x = prefix;
  if (!any) { x = identity(); }
  var s: S;
  for (var k = 0u; k < 4u; k++) {
    let i = block * ${BLOCK}u + q * 4u + k;
    if (i >= n) { break; }
    let element = evaluate(i);
    if (k == 0u) { s = element; } else { s = combine(s, element); }
    var y = s;
    if (any) { y = combine(prefix, s); }
    consume(i, x, y);
    x = y;
  }
${pushOnStack}
}
${whole === undefined ? '' : `${foldStack('quads', 'total')}\n${whole('total')}`}`;
}
