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
 * Kernels over the blocks of the combination tree (`combination-tree.ts`). Each kernel has two forms with the same
 * results. In the form `workgroup`, a workgroup processes several blocks, and a thread processes one quad (four
 * elements) of each. In the form `thread`, a thread processes a whole block, for devices on which barriers are
 * expensive.
 *
 * Callers provide WGSL of the functions `evaluate(i) -> S`, `combine(a, b)` and `identity()`, and statements that
 * consume the results.
 */

const QUADS = BLOCK / QUAD;
const LEVELS = Math.log2(QUADS);
/** Number of threads of a workgroup in the form `thread`. */
const LONE_THREADS = 4;

/** How a kernel over blocks uses threads. */
export interface BlockForm {
  readonly by: Tuning['blockBy'];
  /** Number of blocks per workgroup in the form `workgroup`. The loads of all these blocks overlap. */
  readonly rows: number;
  /** Number of lanes of a subgroup; undefined if subgroups are not used. */
  readonly lanes: number | undefined;
}

/**
 * Chooses the form for states of `leaves` leaves (scalar components). Large states take many registers and much
 * workgroup memory, so a workgroup processes fewer blocks if states are large. The code contains the evaluation four
 * times per block, so a workgroup gets several blocks only if the evaluation is cheap.
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

/** Number of blocks per workgroup. */
export function blocksPerGroup({ by, rows }: BlockForm): number {
  return by === 'workgroup' ? rows : LONE_THREADS;
}

export function blockThreads({ by }: BlockForm): number {
  return by === 'workgroup' ? QUADS : LONE_THREADS;
}

/**
 * The number of elements at every level of the tree. The first is `capacity`; the last level fits in a single block.
 */
export function levelsOf(capacity: number): number[] {
  const levels = [capacity];
  while (levels.at(-1)! > BLOCK) levels.push(Math.ceil(levels.at(-1)! / BLOCK));
  return levels;
}

/**
 * WGSL of `level_length()`, the number of elements at a level: the extent, divided `level` times by the block size and
 * rounded up.
 */
export function emitLevelLength(length: LengthWords, level: number): string {
  let expression = lengthExpression(length);
  for (let round = 0; round < level; round++) expression = `blocks_of(${expression})`;
  return `fn blocks_of(n: u32) -> u32 { return (n >> ${Math.log2(BLOCK)}u) + select(0u, 1u, (n & ${BLOCK - 1}u) != 0u); }
fn level_length() -> u32 { return ${expression}; }`;
}

/** WGSL of the workgroup memory and functions that the kernels of either form use. */
export function emitBlockFunctions({ by, rows, lanes }: BlockForm, types: readonly ScalarType[]): string {
  const shared = by === 'workgroup' ? emitSharedStates(types, QUADS * rows) : '';
  return `${shared}
${lanes === undefined ? '' : emitLaneFunctions(types, lanes)}
fn quads_of(block: u32, n: u32) -> u32 {
  let first = min(n, block * ${BLOCK}u);
  return (min(${BLOCK}u, n - first) + 3u) / 4u;
}`;
}

/**
 * For a level that is a single block: a function that takes WGSL of the level's total and returns WGSL statements that
 * use this total. Undefined if the level has several blocks.
 */
type WithTotal = ((state: string) => string) | undefined;

/**
 * A function that returns WGSL statements that write the total of a block, given WGSL of the block's index and total.
 */
type WriteTotal = (block: string, state: string) => string;

/**
 * WGSL that determines a thread's block and ends threads without a block. If there are no elements, the statements of
 * `whole` receive the identity as the total.
 */
function emitStart({ by, rows, lanes }: BlockForm, whole: WithTotal): string {
  const alone = by === 'thread';
  const block = alone ? `${GROUP_NUMBER} * ${LONE_THREADS}u + t` : `${GROUP_NUMBER} * ${rows}u`;
  return `let n = min(level_length(), ${dispatchWord(1)});
let u = ${lanes === undefined ? 't' : 'sid * sg + lane'};
let block = ${dispatchWord(0)} + ${block};
${whole === undefined ? '' : `if ((n == 0u) & (${alone ? 'block' : 'u'} == 0u)) { ${whole('identity()')} }`}
if (block * ${BLOCK}u >= n) { return; }`;
}

/** WGSL that writes the total of every block. */
export function emitBlockTotals(form: BlockForm, write: WriteTotal, whole: WithTotal): string {
  const totals = form.by === 'workgroup' ? totalsByWorkgroup(form, write) : totalsByThread(write);
  return `${emitStart(form, whole)}\n${totals}`;
}

const forRows = ({ rows }: BlockForm, line: (row: number) => string): string => lines(rows, line);

/**
 * WGSL that loads a thread's quad (four elements) in block `row` and computes the block's number of quads. An element
 * past the end is replaced by the last element.
 */
function emitQuad(row: number): string {
  const load = (k: number): string => `let e${row}${k} = evaluate(min(first${row} + ${k}u, n - 1u));`;
  return `let quads${row} = quads_of(block + ${row}u, n);
let first${row} = (block + ${row}u) * ${BLOCK}u + u * 4u;
${[0, 1, 2, 3].map(load).join(' ')}`;
}

/** Splits the levels of a block's tree into the levels that a subgroup can combine and the levels above. */
function splitLevels({ lanes }: BlockForm): { readonly within: readonly number[]; readonly above: readonly number[] } {
  const levels = Array.from({ length: LEVELS }, (_, d) => d);
  const inside = lanes === undefined ? 0 : Math.log2(lanes);
  return { within: levels.slice(0, inside), above: levels.slice(inside) };
}

/**
 * WGSL of block totals in the form `workgroup`. A quad is four elements. Groups of quads double in size from level to
 * level; a group with an empty right half stays unchanged.
 */
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

/**
 * WGSL of block totals in the form `thread`. The quads (four elements each) processed so far form groups: for each bit
 * d that is set in the number of quads, there is a group of 2^d quads, whose total is `stack[d]`.
 */
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

/**
 * WGSL that combines the groups on the stack into variable `name`, after `quads` quads (four elements each) were
 * pushed. The smallest group holds the last quads, so the loop starts with this group and prepends larger and larger
 * groups.
 */
function foldStack(quads: string, name: string): string {
  return `var ${name}: S; var any_${name} = false;
for (var e = 0u; e <= ${LEVELS}u; e++) {
  if (((${quads} >> e) & 1u) == 1u) {
    if (any_${name}) { ${name} = combine(stack[e], ${name}); } else { ${name} = stack[e]; any_${name} = true; }
  }
}`;
}

/**
 * A function that returns a WGSL expression of the prefix before a block, given WGSL of the block's index. Undefined if
 * there is only one block.
 */
type Before = ((block: string) => string) | undefined;

/** WGSL that scans blocks and calls `consume(i, exclusive, inclusive)` for every element. */
export function emitBlockScan(form: BlockForm, before: Before, whole: WithTotal): string {
  const scan = form.by === 'workgroup' ? scanByWorkgroup(form, before, whole) : scanByThread(before, whole);
  return `${emitStart(form, whole)}\n${scan}`;
}

/** WGSL that prepends the prefix before a block to the variable `prefix`, which is valid only if `any` is true. */
function emitBefore(before: Before, block: string): string {
  if (before === undefined) return '';
  return `if (${block} > 0u) {
  let earlier = ${before(block)};
  if (any) { prefix = combine(earlier, prefix); } else { prefix = earlier; }
  any = true;
}`;
}

/**
 * WGSL of a block scan in the form `workgroup`, by Sklansky's network. Every thread holds the total of its aligned
 * group of quads (four elements each). In every step, the first thread of each group passes the group's total to the
 * neighbouring group.
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

/**
 * WGSL that joins a thread's group with the neighbouring group, whose total is `lent`. An empty right group is skipped.
 */
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
