import { capacityOf, type DeviceBuffer, type Program, type RelaxCommand } from '../../../primitives/backend.ts';
import { entryOf, type ScalarType } from '../../../primitives/functors/ir.ts';
import type { Boundary } from '../../../primitives/stencil-axis.ts';
import { createBindings } from '../bindings.ts';
import { resultType } from '../emit-wgsl.ts';
import { type Engine, type KernelText, launch } from '../engine.ts';
import { bindArrays, emitProgram, fromWord, type LinkedProgram, linkProgram, programKey, toWord } from '../link.ts';
import { createParameters, GROUP_NUMBER, lengthExpression, parameter } from '../parameters.ts';
import type { Helper } from '../wgsl-helpers.ts';
import { emitLiteral } from '../wgsl-operations.ts';
import { emitFold, foldThreads } from './fold-threads.ts';
import { lines } from './lines.ts';
import { emitMonoid, emitSharedStates, monoidKey } from './record.ts';

/** A workgroup's threads: more of them wait longer for each other, fewer have more cells each. */
const THREADS = 256;
/** Cells of a thread at most: the code of a step is written out for each. */
const MOST_CELLS_OF_THREAD = 16;
/** Bytes of workgroup memory beside states and folds: a grid's place, and whether it is done. */
const OTHER_BYTES = 32;

/**
 * How the largest grid lies in the memory of a workgroup: with as many cells around it as its neighbours reach, so that a step
 * reads them all at fixed distances from its own.
 */
export interface RelaxLayout {
  /** Cells of a thread. */
  readonly items: number;
  /** Cells around the grid, on each side. */
  readonly left: number;
  readonly above: number;
  /** Cells of a row with those around it, and of all rows. */
  readonly stride: number;
  readonly words: number;
  /** Cells around the grid that a thread fills. */
  readonly halo: number;
}

/** The layout of grids, or undefined where a workgroup has no room for the largest. */
export function layoutGrids(engine: Engine, command: RelaxCommand): RelaxLayout | undefined {
  const { state, change, maxWidth, maxHeight, neighbours } = command;
  const reach = (of: (at: { readonly dx: number; readonly dy: number }) => number): number =>
    Math.max(0, ...neighbours.map(of));
  const [left, right] = [reach(({ dx }) => -dx), reach(({ dx }) => dx)];
  const [above, below] = [reach(({ dy }) => -dy), reach(({ dy }) => dy)];
  const stride = maxWidth + left + right;
  const words = stride * (maxHeight + above + below);
  const items = Math.ceil((maxWidth * maxHeight) / THREADS);
  const bytes = 4 * (words * state.length + THREADS * change.types.length) + OTHER_BYTES;
  const fits = items <= MOST_CELLS_OF_THREAD && bytes <= engine.shared && THREADS <= engine.threads;
  if (!fits || bindingsOf(engine, command) >= engine.limits.storageBuffers) return undefined;
  return { items, left, above, stride, words, halo: Math.ceil((words - maxWidth * maxHeight) / THREADS) };
}

/** Storage buffers that the kernel binds. */
function bindingsOf({ pool }: Engine, { grids, own, step, until, state, rounds }: RelaxCommand): number {
  const read = [grids, own, step, until].flatMap(({ arrays }) => [...arrays.values()].map(({ buffer }) => buffer));
  const written = [...state, rounds].map(({ buffer }) => buffer);
  const parts = (buffers: readonly DeviceBuffer[]): number =>
    [...new Set(buffers.map((buffer) => pool.resolve(buffer)))].reduce((sum, { parts }) => sum + parts.length, 0);
  return parts(read) + parts(written);
}

/** Relaxes every grid in one workgroup, its states in the memory of that; see the contract. */
export function relax(engine: Engine, command: RelaxCommand, layout: RelaxLayout): void {
  const { extent, grids, own, step, until, state, change, maxWidth, maxRounds, rounds } = command;
  const { items } = layout;
  const { pool, arithmetic, subgroups } = engine;
  const parameters = createParameters(pool);
  const length = parameters.length(extent);
  const most = parameters.word(maxRounds);
  const offsets = state.map(({ offset }) => parameters.word(offset));
  const [roundsWord, roundsRoom] = [parameters.word(rounds.offset), parameters.word(rounds.capacity)];
  const link = (prefix: string, program: Program): LinkedProgram =>
    linkProgram(prefix, program, parameters, pool, extent);
  const programs = [link('g_', grids), link('o_', own), link('s_', step), link('u_', until)];
  const bindings = createBindings();
  const slots = programs.map((program) => bindArrays(program, bindings));
  const states = state.map(({ buffer }) => bindings.bind(pool.resolve(buffer), 'update'));
  const counts = bindings.bind(pool.resolve(rounds.buffer), 'write');
  const types = state.map(({ type }) => type);
  const stored: Stored[] = types.map((type, k) => ({ type, slot: states[k]!, offset: parameter(offsets[k]!) }));
  const code = (): KernelText => {
    const helpers = new Set<Helper>();
    const functions = programs.map((program, i) => emitProgram(program, slots[i]!, arithmetic, helpers));
    return {
      threads: THREADS,
      subgroups: subgroups !== undefined,
      helpers,
      declarations: `${emitMonoid(change, arithmetic, helpers)}
${functions.join('\n')}
${emitSharedStates(change.types, THREADS)}
${emitFold(change.types, THREADS, subgroups)}
${emitCells(command, layout)}`,
      main: `let g = ${GROUP_NUMBER};
let n = ${lengthExpression(length)};
if (t == 0u) {
  // Workgroup memory may hold what another group left there.
  grid = vec3<u32>();
  if (g < n) { let place = g_entry(g); grid = vec3<u32>(place.r0, place.r1, place.r2); }
}
let size = workgroupUniformLoad(&grid);
let is_empty = size.y == 0u || size.z == 0u;
${emitPlaces(maxWidth, layout)}
${emitLoads(stored, own, items)}
${emitHalo(command, layout)}
var turn = 0u;
while (turn < ${parameter(most)} && !is_empty) {
  workgroupBarrier();
  ${fillsHalo(command) ? `${emitFill(types, layout.halo)}\n  workgroupBarrier();` : ''}
  var s = identity();
${emitSteps(command, items)}
  ${foldThreads(subgroups !== undefined)}
${emitMoves(command, items)}
  turn++;
  if (t == 0u) { is_done = select(0u, 1u, u_entry(${['g', 'size.y * size.z', ...change.types.map((_, k) => `s.a${k}`)].join(', ')})); }
  if (workgroupUniformLoad(&is_done) != 0u) { break; }
}
${emitStores(stored, items)}
if (t == 0u && g < min(n, ${parameter(roundsRoom)})) { store_${counts}(g + ${parameter(roundsWord)}, turn); }`,
    };
  };
  const shape = [
    Object.values(layout).join('.'),
    maxWidth,
    types.join('.'),
    ...neighboursKey(command),
    states.join('.'),
    counts,
    length.raw,
    most,
  ];
  launch(engine, {
    key: `relax ${monoidKey(change)} ${programs.map((program, i) => programKey(program, slots[i]!)).join(' ')} ${shape.join(' ')}`,
    parameters,
    bindings,
    code,
    groups: capacityOf(extent),
  });
}

/** A leaf of the states, and where it is stored. */
interface Stored {
  readonly type: ScalarType;
  readonly slot: number;
  readonly offset: string;
}

function neighboursKey({ neighbours, boundary, outside }: RelaxCommand): string[] {
  return [neighbours.map(({ dx, dy }) => `${dx},${dy}`).join(), boundary.x, boundary.y, outside.map(String).join()];
}

/** The states of a grid in workgroup memory with those around it, and the step of a cell. */
function emitCells({ state, neighbours, step }: RelaxCommand, { stride, words }: RelaxLayout): string {
  const types = state.map(({ type }) => type);
  const arrays = types.map((type, k) => `var<workgroup> c${k}: array<${type}, ${words}>;`);
  const { parameters, results } = entryOf(step.module);
  const own = parameters.slice(1 + types.length, parameters.length - neighbours.length * types.length);
  const at = (word: string): string[] => types.map((_, k) => `c${k}[${word}]`);
  const around = neighbours.flatMap(({ dx, dy }) => at(shifted('p', dx + dy * stride)));
  const args = ['i', ...at('p'), ...own.map((_, k) => `o${k}`), ...around];
  const given = ['i: u32', 'p: u32', ...own.map(({ type }, k) => `o${k}: ${type}`)];
  return `var<workgroup> grid: vec3<u32>;
var<workgroup> is_done: u32;
${arrays.join('\n')}
fn wrapped(at: i32, size: i32) -> i32 { let r = at % size; return select(r, r + size, r < 0); }
fn reflected(at: i32, size: i32) -> i32 {
  let period = max(1, 2 * (size - 1));
  let r = abs(at) % period;
  return min(r, period - r);
}
fn next_of(${given.join(', ')}) -> ${resultType('s_', 'entry', results)} { return s_entry(${args.join(', ')}); }`;
}

function shifted(word: string, by: number): string {
  return by === 0 ? word : by < 0 ? `${word} - ${-by}u` : `${word} + ${by}u`;
}

/**
 * For every cell of a thread: whether it is in the grid, its number, and its place in workgroup memory. In place of those
 * outside a thread takes the first cell once more, so that steps need no branch and run side by side.
 */
function emitPlaces(maxWidth: number, { items, left, above, stride }: RelaxLayout): string {
  return lines(
    items,
    (k) => `let l${k} = t + ${k * THREADS}u; let y${k} = l${k} / ${maxWidth}u; let x${k} = l${k} - y${k} * ${maxWidth}u;
let is${k} = x${k} < size.y && y${k} < size.z; let i${k} = size.x + select(0u, y${k} * size.y + x${k}, is${k});
let p${k} = select(0u, y${k} * ${stride}u + x${k}, is${k}) + ${above * stride + left}u;`,
  );
}

/** What every cell is before the first round, and what else the step takes of it. */
function emitLoads(stored: readonly Stored[], own: Program, items: number): string {
  const types = entryOf(own.module).results;
  return lines(items, (k) => {
    const states = stored.map(
      ({ type, slot, offset }, leaf) => `c${leaf}[p${k}] = ${fromWord(type, `load_${slot}(i${k} + ${offset})`)};`,
    );
    const field = (leaf: number): string => (types.length === 1 ? 'o' : `o.r${leaf}`);
    const owns = types.map((_, leaf) => `o${k}_${leaf} = ${field(leaf)};`);
    const evaluated = types.length === 0 ? '' : `let o = o_entry(i${k}); ${owns.join(' ')}`;
    return `${types.map((type, leaf) => `var o${k}_${leaf}: ${type};`).join(' ')}
if (!is_empty) { ${evaluated} }
if (is${k}) { ${states.join(' ')} }`;
  });
}

/** Whether the cells around the grid are others after each round. */
function fillsHalo({ neighbours, boundary }: RelaxCommand): boolean {
  return (
    (boundary.x !== 'constant' && neighbours.some(({ dx }) => dx !== 0)) ||
    (boundary.y !== 'constant' && neighbours.some(({ dy }) => dy !== 0))
  );
}

/**
 * For every cell around the grid that a thread fills: its place, and that of the cell which stands for it. Cells outside whose
 * boundary is constant are filled here, once.
 */
function emitHalo(
  { state, neighbours, boundary, outside, maxWidth, maxHeight }: RelaxCommand,
  { left, above, stride, words, halo }: RelaxLayout,
): string {
  if (halo === 0) return '';
  const [right, below] = [stride - left - maxWidth, words / stride - above - maxHeight];
  const literals = state.map(({ type }, k) => emitLiteral({ kind: 'literal', type, value: outside[k]! }));
  const isConstant = [
    boundary.x === 'constant' ? 'hx < 0 || hx >= w' : '',
    boundary.y === 'constant' ? 'hy < 0 || hy >= h' : '',
  ].filter((condition) => condition !== '' && neighbours.length > 0);
  const placed = lines(
    halo,
    (k) => `var d${k} = 0u; var f${k} = 0u; var fills${k} = false;
{
  let j = t + ${k * THREADS}u;
  let rows = ${above + below}u * wide;
  if (!is_empty && j < rows + ${left + right}u * size.z) {
    var hx = 0; var hy = 0;
    if (j < rows) { let r = j / wide; hx = i32(j - r * wide) - ${left}; hy = select(i32(r) - ${above}, h + i32(r) - ${above}, r >= ${above}u); }
    else { let q = j - rows; let r = q / ${Math.max(1, left + right)}u; let c = q - r * ${left + right}u; hy = i32(r); hx = select(i32(c) - ${left}, w + i32(c) - ${left}, c >= ${left}u); }
    d${k} = u32((hy + ${above}) * ${stride} + hx + ${left});
    ${isConstant.length === 0 ? '' : `if (${isConstant.join(' || ')}) { ${state.map((_, leaf) => `c${leaf}[d${k}] = ${literals[leaf]};`).join(' ')} } else`} {
      f${k} = u32((${along('hy', 'h', boundary.y)} + ${above}) * ${stride} + ${along('hx', 'w', boundary.x)} + ${left});
      fills${k} = true;
    }
  }
}`,
  );
  return `let w = i32(size.y); let h = i32(size.z); let wide = size.y + ${left + right}u;\n${placed}`;
}

/** The place on a line that stands for one that may lie outside. */
function along(at: string, size: string, boundary: Boundary): string {
  switch (boundary) {
    case 'clamp':
    case 'constant':
      return `clamp(${at}, 0, ${size} - 1)`;
    case 'wrap':
      return `wrapped(${at}, ${size})`;
    case 'reflect':
      return `reflected(${at}, ${size})`;
  }
}

function emitFill(types: readonly ScalarType[], halo: number): string {
  return lines(
    halo,
    (k) => `if (fills${k}) { ${types.map((_, leaf) => `c${leaf}[d${k}] = c${leaf}[f${k}];`).join(' ')} }`,
  );
}

/** The next state of every cell, kept in registers, and the fold of a thread's changes. */
function emitSteps({ own, step, change, state }: RelaxCommand, items: number): string {
  const owns = entryOf(own.module).results.length;
  const changes = (k: number): string =>
    change.types.map((_, leaf) => resultOf(step, k, state.length + leaf)).join(', ');
  const steps = lines(items, (k) => {
    const given = [`i${k}`, `p${k}`, ...Array.from({ length: owns }, (_, leaf) => `o${k}_${leaf}`)];
    return `let r${k} = next_of(${given.join(', ')});`;
  });
  return `${steps}\n${lines(items, (k) => `if (is${k}) { s = combine(s, S(${changes(k)})); }`)}`;
}

/** Result `at` of the step of a thread's cell. */
function resultOf({ module }: Program, k: number, at: number): string {
  return entryOf(module).results.length === 1 ? `r${k}` : `r${k}.r${at}`;
}

/** The next states in the place of those before. */
function emitMoves({ state, step }: RelaxCommand, items: number): string {
  const moves = (k: number): string =>
    state.map((_, leaf) => `c${leaf}[p${k}] = ${resultOf(step, k, leaf)};`).join(' ');
  return lines(items, (k) => `if (is${k}) { ${moves(k)} }`);
}

function emitStores(stored: readonly Stored[], items: number): string {
  return lines(items, (k) => {
    const stores = stored.map(
      ({ type, slot, offset }, leaf) => `store_${slot}(i${k} + ${offset}, ${toWord(type, `c${leaf}[p${k}]`)});`,
    );
    return `if (is${k}) { ${stores.join(' ')} }`;
  });
}
