import {
  type Boundary,
  capacityOf,
  type MonoidProgram,
  type Program,
  type RelaxCommand,
} from '../../../../primitives/contract/backend.ts';
import { entryOf, type ScalarType } from '../../../../primitives/ir/ir.ts';
import { hasLoops } from '../../../../primitives/ir/visit.ts';
import { type Subgroups, widthOf } from '../../device/device.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, type KernelText, launch } from '../../launches/engine.ts';
import {
  bindArrays,
  emitProgram,
  fromWord,
  type LinkedProgram,
  linkProgram,
  programKey,
  toWord,
} from '../../launches/link.ts';
import { createParameters, GROUP_NUMBER, lengthExpression, parameter } from '../../launches/parameters.ts';
import { resultOf, resultType, type Shader } from '../../wgsl/emit-wgsl.ts';
import { emitLiteral } from '../../wgsl/wgsl-operations.ts';
import { emitFold, foldThreads } from '../reduce/fold-threads.ts';
import { lines } from '../shared/lines.ts';
import { emitMonoid, emitSharedStates, monoidKey } from '../shared/record.ts';
import { emitLaneFunctions } from '../shared/subgroups.ts';
import { cellsOf, foldedStates, type RelaxLayout } from './relax-layout.ts';

/**
 * Runs a relax command; see `RelaxCommand`. Each grid is processed by one workgroup, which keeps the states in
 * workgroup memory.
 */
export function relax(engine: Engine, command: RelaxCommand, layout: RelaxLayout): void {
  const { extent, grids, own, step, until, state, change, maxRounds, rounds } = command;
  const { threads } = layout;
  const { pool, subgroups } = engine;
  const parameters = createParameters(pool);
  const length = parameters.length(extent);
  const max = parameters.word(maxRounds);
  const offsets = state.map(({ offset }) => parameters.word(offset));
  const [roundsWord, roundsRoom] = [parameters.word(rounds.offset), parameters.word(rounds.capacity)];
  const link = (prefix: string, program: Program): LinkedProgram => linkProgram(prefix, program, parameters, extent);
  const bindings = createBindings(parameters);
  const programs = [link('g_', grids), link('o_', own), link('s_', step), link('u_', until)].map((program) =>
    bindArrays(program, bindings),
  );
  const states = state.map(({ buffer }) => bindings.bind(pool.resolve(buffer), 'update'));
  const counts = bindings.bind(pool.resolve(rounds.buffer), 'write');
  const types = state.map(({ type }) => type);
  const stored: Stored[] = types.map((type, k) => ({ type, slot: states[k]!, offset: parameter(offsets[k]!) }));
  const code = (shader: Shader): KernelText => {
    const functions = programs.map((bound) => emitProgram(bound, shader));
    const fold = foldOf(change, threads, subgroups);
    return {
      threads,
      subgroups: subgroups !== undefined,
      declarations: `${emitMonoid(change, shader)}
${functions.join('\n')}
${emitSharedStates(change.types, foldedStates(engine, threads))}
${fold.declarations}
${emitCells(command, layout)}`,
      main: `let g = ${GROUP_NUMBER};
let n = ${lengthExpression(length)};
if (t == 0u) {
  // Workgroup memory may hold values of an earlier workgroup.
  grid = vec3<u32>(); is_done = 0u;
  if (g < n) { let place = g_entry(g); grid = vec3<u32>(place.r0, place.r1, place.r2); }
}
let size = workgroupUniformLoad(&grid);
let is_empty = size.y == 0u || size.z == 0u;
${emitPlaces(command, layout)}
${emitLoads(command, stored, layout)}
workgroupBarrier();
var turn = 0u;
while (turn < ${parameter(max)} && !is_empty) {
  var s = identity();
${emitSteps(command, layout)}
  ${fold.own}
  workgroupBarrier();
${emitMoves(command, layout)}
  ${fold.all}
  turn++;
  if (t == 0u) { is_done = select(0u, 1u, u_entry(${['g', 'size.y * size.z', ...change.types.map((_, k) => `s.a${k}`)].join(', ')})); }
  if (workgroupUniformLoad(&is_done) != 0u) { break; }
}
${emitStores(stored, layout)}
if (t == 0u && g < min(n, ${parameter(roundsRoom)})) { store_${counts}(g + ${parameter(roundsWord)}, turn); }`,
    };
  };
  const shape = [
    Object.values(layout).join('.'),
    command.maxWidth,
    types.join('.'),
    ...neighboursKey(command),
    states.join('.'),
    counts,
    length.raw,
    max,
  ];
  launch(engine, {
    key: `relax ${monoidKey(change)} ${programs.map(programKey).join(' ')} ${shape.join(' ')}`,
    bindings,
    code,
    groups: capacityOf(extent),
  });
}

/** A leaf of the states, stored in a buffer: its type, its binding, and the WGSL expression of its offset. */
interface Stored {
  readonly type: ScalarType;
  readonly slot: number;
  readonly offset: string;
}

function neighboursKey({ neighbours, boundary, outside }: RelaxCommand): string[] {
  return [neighbours.map(({ dx, dy }) => `${dx},${dy}`).join(), boundary.x, boundary.y, outside.map(String).join()];
}

/**
 * WGSL that folds the changes of a round. The code `own` folds within each subgroup. After a barrier, the code `all`
 * folds the results of the subgroups. Every subgroup runs `all`, because a subgroup that did not would have to wait for
 * the result anyway. (In a loop like the one in `all`, subgroupMin and subgroupMax gave wrong numbers on an H200, and
 * they are not faster than the functions used here.) Without subgroups, `own` folds all changes and `all` is empty.
 */
function foldOf(
  change: MonoidProgram,
  threads: number,
  subgroups: Subgroups | undefined,
): Record<'declarations' | 'own' | 'all', string> {
  const { types } = change;
  if (subgroups === undefined) {
    return { declarations: emitFold(types, threads, undefined), own: foldThreads(false), all: '' };
  }
  return {
    declarations: emitLaneFunctions(types, widthOf(subgroups)),
    own: 's = lanes_backwards(s, lane, sg);\n  if (lane == 0u) { put(sid, s); }',
    all: `s = identity();
  for (var k = lane; k < ${threads}u / sg; k += sg) { s = combine(s, take(k)); }
  s = lanes_backwards(s, lane, sg);`,
  };
}

/** WGSL of the workgroup memory for a grid's cells, and of the functions that apply the boundary rules. */
function emitCells({ state, boundary }: RelaxCommand, { words }: RelaxLayout): string {
  const arrays = state.map(({ type }, leaf) => `var<workgroup> c${leaf}: array<${type}, ${words}>;`);
  return `var<workgroup> grid: vec3<u32>;
var<workgroup> is_done: u32;
${arrays.join('\n')}
fn along_x(at: i32, size: i32) -> i32 { ${along(boundary.x)} }
fn along_y(at: i32, size: i32) -> i32 { ${along(boundary.y)} }`;
}

/**
 * WGSL statements that apply a boundary rule to the coordinate `at`, which may be outside the grid. They return the
 * coordinate that replaces `at`.
 */
function along(boundary: Boundary): string {
  switch (boundary) {
    case 'clamp':
    case 'constant':
      return 'return clamp(at, 0, size - 1);';
    case 'wrap':
      return 'let r = at % size; return select(r, r + size, r < 0);';
    case 'reflect':
      return 'let period = max(1, 2 * (size - 1)); let r = abs(at) % period; return min(r, period - r);';
  }
}

/**
 * WGSL that computes where a thread's strips start in workgroup memory, which of the thread's cells are in the grid,
 * and where the neighbours of these cells are stored.
 */
function emitPlaces(command: RelaxCommand, layout: RelaxLayout): string {
  const { across, strips, rows, repeats, pitch } = layout;
  const columns = lines(
    repeats,
    (j) => `let isx${j} = is_used && t % ${across}u + ${j * across}u < size.y;
let x${j} = t % ${across}u + ${j * across}u;
let begin${j} = select(0u, (strip * ${command.maxWidth}u + x${j}) * ${pitch}u, isx${j});`,
  );
  const cells = cellsOf(layout).map(
    ({ repeat, row }, k) => `let is${k} = isx${repeat} && first + ${row}u < size.z;
let i${k} = size.x + select(0u, (first + ${row}u) * size.y + x${repeat}, is${k});`,
  );
  return `let is_used = t < ${across * strips}u;
let strip = select(0u, t / ${across}u, is_used);
let first = strip * ${rows}u;
let w = i32(max(size.y, 1u)); let h = i32(max(size.z, 1u));
${columns}
${cells.join('\n')}
${emitNeighbourPlaces(command, layout)}`;
}

/**
 * WGSL that computes the indices in workgroup memory at which the neighbours of a thread's cells are stored. For a
 * neighbour outside the grid, the boundary rule determines the index.
 */
function emitNeighbourPlaces({ boundary, neighbours, maxWidth }: RelaxCommand, layout: RelaxLayout): string {
  const { rows, pitch, words } = layout;
  const places = new Map<string, string>();
  for (const { repeat, row } of cellsOf(layout)) {
    for (const { dx, dy } of neighbours) {
      // Several cells of a thread share the variable for a neighbour's index in workgroup memory. The WGSL therefore
      // checks whether `y` is outside the grid even if `dy` is 0 here, because `dy` is not 0 for another cell.
      const name = placeName(repeat, dx, row + dy);
      const isOutside = [
        boundary.x === 'constant' && dx !== 0 ? 'x < 0 || x >= w' : '',
        boundary.y === 'constant' ? 'y < 0 || y >= h' : '',
      ].filter((condition) => condition !== '');
      const outside = isOutside.length === 0 ? '' : `if (${isOutside.join(' || ')}) { ${name} = ${words - 1}u; }`;
      places.set(
        name,
        `var ${name} = 0u;
{
  let x = i32(x${repeat}) + ${dx}; let y = i32(first) + ${row + dy};
  let other = u32(along_y(y, h));
  ${name} = ((other / ${rows}u) * ${maxWidth}u + u32(along_x(x, w))) * ${pitch}u + other % ${rows}u;
  ${outside}
}`,
      );
    }
  }
  return [...places.values()].join('\n');
}

/**
 * Name of the WGSL variable that holds the index in workgroup memory of a neighbour. The neighbour is `dx` columns to
 * the right of the thread's strip number `repeat` and `y` rows below the first row of the strip.
 */
function placeName(repeat: number, dx: number, y: number): string {
  const signed = (value: number): string => (value < 0 ? `m${-value}` : `${value}`);
  return `p${repeat}_${signed(dx)}_${signed(y)}`;
}

/** WGSL that loads the initial state of every cell and computes the cell's own values, which the step receives. */
function emitLoads({ own, outside }: RelaxCommand, stored: readonly Stored[], layout: RelaxLayout): string {
  const types = entryOf(own.module).results;
  const around = stored.map(
    ({ type }, leaf) =>
      `c${leaf}[${layout.words - 1}] = ${emitLiteral({ kind: 'literal', type, value: outside[leaf]! })};`,
  );
  const cells = cellsOf(layout).map(({ repeat, row }, k) => {
    const states = stored.map(
      ({ type, slot, offset }, leaf) =>
        `c${leaf}[begin${repeat} + ${row}u] = ${fromWord(type, `load_${slot}(i${k} + ${offset})`)};`,
    );
    const owns = types.map((_, leaf) => `o${k}_${leaf} = ${resultOf('o', leaf, types.length)};`);
    const evaluated = types.length === 0 ? '' : `let o = o_entry(i${k}); ${owns.join(' ')}`;
    return `${types.map((type, leaf) => `var o${k}_${leaf}: ${type};`).join(' ')}
if (!is_empty) { ${evaluated} }
if (is${k}) { ${states.join(' ')} }`;
  });
  return `if (t == 0u) { ${around.join(' ')} }\n${cells.join('\n')}`;
}

/**
 * WGSL that computes the next state of every cell in registers and folds the thread's changes. A step without loops is
 * also computed for cells outside the grid, because steps without branches overlap. A step with loops is computed only
 * for cells inside the grid, because the loops might not end for other cells.
 */
function emitSteps({ own, step, change, state, neighbours }: RelaxCommand, layout: RelaxLayout): string {
  const owns = entryOf(own.module).results.length;
  const reads = new Map<string, string>();
  const read = (name: string, place: string): string[] =>
    state.map((_, leaf) => {
      reads.set(`${name}_${leaf}`, `let ${name}_${leaf} = c${leaf}[${place}];`);
      return `${name}_${leaf}`;
    });
  const isGuarded = hasLoops(step.module);
  const { results } = entryOf(step.module);
  const type = resultType('s_', 'entry', results);
  const steps = cellsOf(layout).map(({ repeat, row }, k) => {
    const around = neighbours.flatMap(({ dx, dy }) => {
      const place = placeName(repeat, dx, row + dy);
      return read(`n${place}`, place);
    });
    const before = read(`b${k}`, `begin${repeat} + ${row}u`);
    const given = [`i${k}`, ...before, ...Array.from({ length: owns }, (_, leaf) => `o${k}_${leaf}`)];
    const next = `s_entry(${[...given, ...around].join(', ')})`;
    return isGuarded ? `var r${k}: ${type}; if (is${k}) { r${k} = ${next}; }` : `let r${k} = ${next};`;
  });
  const folds = steps.map((_, k) => {
    const changes = change.types.map((_, leaf) => resultOf(`r${k}`, state.length + leaf, results.length));
    return `if (is${k}) { s = combine(s, S(${changes.join(', ')})); }`;
  });
  return [...reads.values(), ...steps, ...folds].join('\n');
}

/** WGSL that replaces the states in workgroup memory by the next states. */
function emitMoves({ state, step }: RelaxCommand, layout: RelaxLayout): string {
  const { length } = entryOf(step.module).results;
  const moves = cellsOf(layout).map(({ repeat, row }, k) => {
    const moved = state.map((_, leaf) => `c${leaf}[begin${repeat} + ${row}u] = ${resultOf(`r${k}`, leaf, length)};`);
    return `if (is${k}) { ${moved.join(' ')} }`;
  });
  return moves.join('\n');
}

function emitStores(stored: readonly Stored[], layout: RelaxLayout): string {
  const stores = cellsOf(layout).map(({ repeat, row }, k) => {
    const words = stored.map(({ type, slot, offset }, leaf) => {
      const state = `c${leaf}[begin${repeat} + ${row}u]`;
      return `store_${slot}(i${k} + ${offset}, ${toWord(type, state)});`;
    });
    return `if (is${k}) { ${words.join(' ')} }`;
  });
  return stores.join('\n');
}
