import { type CrossReduceCommand, capacityOf, type VectorLeaf } from '../../../../primitives/contract/backend.ts';
import { runsOf } from '../../../../primitives/derived/cross-reduce-by-rows.ts';
import { entryOf, type ScalarType } from '../../../../primitives/ir/ir.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, type KernelText, launch } from '../../launches/engine.ts';
import { fromWord, toWord } from '../../launches/link.ts';
import { createParameters, GROUP_NUMBER, lengthExpression, parameter } from '../../launches/parameters.ts';
import { resultOf, type Shader } from '../../wgsl/emit-wgsl.ts';
import { emitLiteral } from '../../wgsl/wgsl-operations.ts';
import { bindsPairs, linkPairs, numbersTo } from './cross-pairs.ts';

/** Threads per workgroup. The rows of the left table that one thread processes are `THREADS` rows apart. */
const THREADS = 64;
/** Maximum number of rows of the left table per thread. */
const MAX_ROWS = 4;
/** Maximum number of rows of the right table that a workgroup processes at a time. */
const MAX_AT_ONCE = 8;
/** Maximum number of sums that a thread keeps for all its pairs. More would not fit in registers. */
const MAX_SUMS = 32;
/** Number of dimensions that a tile holds at a time. Eight words fill a 32-byte sector of memory. */
const DEPTH = 8;
/**
 * Number of padding words after each dimension of a tile. With this padding, a warp that writes eight dimensions uses
 * all memory banks.
 */
const PADDING = 4;

/** How the pairs of a workgroup's tile are split among its threads. */
export interface CrossLayout {
  /** Number of rows of the left table per thread. */
  readonly rows: number;
  /** Number of rows of the right table that a workgroup processes at a time. */
  readonly atOnce: number;
}

/**
 * The layout for a command; undefined if a kernel has too few bindings, or if a workgroup has too little memory for its
 * tiles.
 */
export function layoutPairs(engine: Engine, command: CrossReduceCommand): CrossLayout | undefined {
  const { extent, start, left, right } = command;
  if (!bindsPairs(engine, command)) return undefined;
  const rows = Math.min(MAX_ROWS, 2 ** Math.ceil(Math.log2(Math.max(1, Math.ceil(capacityOf(extent) / THREADS)))));
  const max = Math.floor(MAX_SUMS / (rows * Math.max(1, start.length)));
  const atOnce = Math.max(1, Math.min(MAX_AT_ONCE, 2 ** Math.floor(Math.log2(Math.max(1, max)))));
  const words = DEPTH * (left.length * (rows * THREADS + PADDING) + right.length * atOnce);
  return 4 * words + 16 <= engine.shared ? { rows, atOnce } : undefined;
}

/**
 * Folds a functor's values over all pairs of left and right rows. A workgroup pairs a tile of left rows with a run of
 * consecutive right rows. Each thread has one or several left rows and pairs them with a few right rows at a time. For
 * these rows, the workgroup repeatedly loads the next `DEPTH` dimensions into workgroup memory. After each load, every
 * thread updates the sums of its pairs.
 */
export function crossReduce(engine: Engine, command: CrossReduceCommand, layout: CrossLayout): void {
  const { extent, others, run, dimensions, left, right, monoid, results } = command;
  const { pool } = engine;
  const runs = runsOf(command);
  const tiles = Math.ceil(capacityOf(extent) / (THREADS * layout.rows));
  const parameters = createParameters(pool);
  const [length, otherLength] = [parameters.length(extent), parameters.length(others)];
  const word = (number: number): string => parameter(parameters.word(number));
  const numbers = {
    ...{ tiles: word(tiles), capacity: word(capacityOf(extent)), runs: word(runs) },
    ...{ run: word(run), dimensions: word(dimensions) },
  };
  const bindings = createBindings(parameters);
  const functors = linkPairs(command, bindings);
  const placed = (leaf: VectorLeaf): Placed => ({
    type: leaf.type,
    slot: bindings.bind(pool.resolve(leaf.array.buffer), 'read'),
    offset: word(leaf.array.offset),
  });
  const [lefts, rights] = [left.map(placed), right.map(placed)];
  const into = results.map(
    ({ buffer, offset }, leaf): Placed => ({
      type: monoid.types[leaf]!,
      slot: bindings.bind(pool.resolve(buffer), 'write'),
      offset: word(offset),
    }),
  );
  const kernel: Kernel = { command, layout, numbers, lefts, rights, into };
  const code = (shader: Shader): KernelText => ({
    threads: THREADS,
    declarations: `${functors.declarations(shader)}
${emitTiles(kernel)}`,
    main: `if (t == 0u) { bounds = vec2<u32>(${lengthExpression(length)}, ${lengthExpression(otherLength)}); }
let size = workgroupUniformLoad(&bounds);
let g = ${GROUP_NUMBER};
let r = g / ${numbers.tiles};
let first = (g - r * ${numbers.tiles}) * ${THREADS * layout.rows}u;
let begin = min(r * ${numbers.run}, size.y);
let end = begin + min(${numbers.run}, size.y - begin);
${emitRows(kernel)}
for (var j = begin; j < end; j += ${layout.atOnce}u) {
${emitSums(kernel)}
${emitFold(kernel)}
}
${emitStores(kernel)}`,
  });
  const shape = [
    Object.values(layout).join('.'),
    ...[lefts, rights, into].map((leaves) => leaves.map(({ type, slot }) => `${type}${slot}`).join('.')),
    command.start.map((value) => (Object.is(value, -0) ? '-0' : `${value}`)).join('.'),
    ...[length.raw, otherLength.raw],
  ];
  launch(engine, {
    key: `crossReduce ${functors.key} ${shape.join(' ')}`,
    bindings,
    code,
    groups: tiles * runs,
  });
}

/**
 * A column of values: the type of the values, the binding of the column, and the WGSL expression of the first value's
 * offset in words.
 */
interface Placed {
  readonly type: ScalarType;
  readonly slot: number;
  readonly offset: string;
}

interface Kernel {
  readonly command: CrossReduceCommand;
  readonly layout: CrossLayout;
  readonly numbers: Readonly<Record<'tiles' | 'capacity' | 'runs' | 'run' | 'dimensions', string>>;
  readonly lefts: readonly Placed[];
  readonly rights: readonly Placed[];
  readonly into: readonly Placed[];
}

/** Distance in words between two dimensions of a tile. */
const pitchOf = ({ rows }: CrossLayout): number => rows * THREADS + PADDING;

function emitTiles({ layout, lefts, rights }: Kernel): string {
  const tiles = [
    ...lefts.map(({ type }, leaf) => `var<workgroup> left_tile_${leaf}: array<${type}, ${DEPTH * pitchOf(layout)}>;`),
    ...rights.map(({ type }, leaf) => `var<workgroup> right_tile_${leaf}: array<${type}, ${DEPTH * layout.atOnce}>;`),
  ];
  return `var<workgroup> bounds: vec2<u32>;\n${tiles.join('\n')}`;
}

/** WGSL that computes the indices and own values (results of `l_entry`) of a thread's left rows. */
function emitRows({ command, layout }: Kernel): string {
  const types = entryOf(command.leftOwn.module).results;
  return numbersTo(layout.rows)
    .map((m) => {
      const taken = types.map((_, leaf) => `o${m}_${leaf} = ${resultOf('o', leaf, types.length)};`);
      const own = types.length === 0 ? '' : `if (is${m}) { let o = l_entry(i${m}); ${taken.join(' ')} }`;
      return `let i${m} = first + t + ${m * THREADS}u;
let is${m} = i${m} < size.x;
var s${m} = identity();
${types.map((type, leaf) => `var o${m}_${leaf}: ${type};`).join(' ')}
${own}`;
    })
    .join('\n');
}

/** WGSL that computes the sums of a thread's left rows with the right rows that are processed together. */
function emitSums(kernel: Kernel): string {
  const { command, layout, numbers, lefts, rights } = kernel;
  const { start, step } = command;
  const types = entryOf(step.module).results;
  if (start.length === 0) return '';
  const pairs = numbersTo(layout.rows).flatMap((m) => numbersTo(layout.atOnce).map((n) => [m, n] as const));
  const sums = pairs.flatMap(([m, n]) =>
    types.map((type, k) => `var q${m}_${n}_${k} = ${emitLiteral({ kind: 'literal', type, value: start[k]! })};`),
  );
  const elements = [
    ...numbersTo(layout.rows).flatMap((m) =>
      lefts.map((_, leaf) => `let a${m}_${leaf} = left_tile_${leaf}[d * ${pitchOf(layout)}u + t + ${m * THREADS}u];`),
    ),
    ...numbersTo(layout.atOnce).flatMap((n) =>
      rights.map((_, leaf) => `let b${n}_${leaf} = right_tile_${leaf}[d * ${layout.atOnce}u + ${n}u];`),
    ),
  ];
  const steps = pairs.map(([m, n]) => {
    const given = [
      ...types.map((_, k) => `q${m}_${n}_${k}`),
      ...lefts.map((_, leaf) => `a${m}_${leaf}`),
      ...rights.map((_, leaf) => `b${n}_${leaf}`),
    ];
    const next = `s_entry(base + d, ${given.join(', ')})`;
    if (types.length === 1) return `q${m}_${n}_0 = ${next};`;
    const moved = types.map((_, k) => `q${m}_${n}_${k} = next.r${k};`);
    return `{ let next = ${next}; ${moved.join(' ')} }`;
  });
  return `${sums.join('\n')}
for (var base = 0u; base < ${numbers.dimensions}; base += ${DEPTH}u) {
  workgroupBarrier();
  for (var e = t; e < ${DEPTH * layout.rows * THREADS}u; e += ${THREADS}u) {
    let d = e % ${DEPTH}u; let k = e / ${DEPTH}u;
    let at = (first + k) * ${numbers.dimensions} + base + d;
    let is_inside = first + k < size.x && base + d < ${numbers.dimensions};
${lefts.map((leaf, k) => emitBring(leaf, `left_tile_${k}[d * ${pitchOf(layout)}u + k]`)).join('\n')}
  }
  for (var e = t; e < ${DEPTH * layout.atOnce}u; e += ${THREADS}u) {
    let d = e % ${DEPTH}u; let k = e / ${DEPTH}u;
    let at = (j + k) * ${numbers.dimensions} + base + d;
    let is_inside = j + k < end && base + d < ${numbers.dimensions};
${rights.map((leaf, k) => emitBring(leaf, `right_tile_${k}[d * ${layout.atOnce}u + k]`)).join('\n')}
  }
  workgroupBarrier();
  let depth = min(${DEPTH}u, ${numbers.dimensions} - base);
  for (var d = 0u; d < depth; d++) {
${elements.join('\n')}
${steps.join('\n')}
  }
}`;
}

/** WGSL that loads one element into a tile. For a position outside the vectors, the tile is not changed. */
function emitBring({ type, slot, offset }: Placed, place: string): string {
  return `if (is_inside) { ${place} = ${fromWord(type, `load_${slot}(at + ${offset})`)}; }`;
}

/** WGSL that folds the values of a thread's pairs, one right row after the other. */
function emitFold({ command, layout }: Kernel): string {
  const { start, leftOwn, rightOwn, value, monoid } = command;
  const rightTypes = entryOf(rightOwn.module).results;
  const leftCount = entryOf(leftOwn.module).results.length;
  const results = entryOf(value.module).results;
  return numbersTo(layout.atOnce)
    .map((n) => {
      const pairs = numbersTo(layout.rows).map((m) => {
        const given = [
          `i${m}`,
          ...start.map((_, k) => `q${m}_${n}_${k}`),
          ...numbersTo(leftCount).map((leaf) => `o${m}_${leaf}`),
          ...rightTypes.map((_, leaf) => resultOf('p', leaf, rightTypes.length)),
        ];
        const worth = monoid.types.map((_, leaf) => resultOf('v', leaf, results.length));
        return `if (is${m}) { let v = v_entry(${given.join(', ')}); s${m} = combine(s${m}, S(${worth.join(', ')})); }`;
      });
      const own = rightTypes.length === 0 ? '' : `let p = r_entry(j + ${n}u);`;
      return `if (j + ${n}u < end) { ${own}\n${pairs.join('\n')} }`;
    })
    .join('\n');
}

function emitStores({ layout, numbers, into }: Kernel): string {
  return numbersTo(layout.rows)
    .map((m) => {
      const stores = into.map(
        ({ type, slot, offset }, leaf) =>
          `store_${slot}(r * ${numbers.capacity} + i${m} + ${offset}, ${toWord(type, `s${m}.a${leaf}`)});`,
      );
      return `if (r < ${numbers.runs} && i${m} < ${numbers.capacity}) { ${stores.join(' ')} }`;
    })
    .join('\n');
}
