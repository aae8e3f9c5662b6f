import { type CrossReduceCommand, capacityOf, type VectorLeaf } from '../../../../primitives/contract/backend.ts';
import { entryOf, type ScalarType } from '../../../../primitives/ir/ir.ts';
import { combinesInAnyOrder } from '../../../analyses/monoid-shapes.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, type KernelText, launch } from '../../launches/engine.ts';
import { fromWord, toWord } from '../../launches/link.ts';
import { createParameters, GROUP_NUMBER, lengthExpression, parameter } from '../../launches/parameters.ts';
import { resultOf, type Shader } from '../../wgsl/emit-wgsl.ts';
import { emitLiteral } from '../../wgsl/wgsl-operations.ts';
import { bindsPairs, linkPairs, numbersTo } from './cross-pairs.ts';

/** Number of threads along each side of a workgroup, whose threads form a square. */
const SIDE = 16;
const THREADS = SIDE * SIDE;
/** Number of left rows per thread, and also of right rows per thread. */
const ROWS = 8;
/** Number of left rows per tile, and also of right rows per tile. */
const TILE = SIDE * ROWS;
/** Number of dimensions that a tile holds at a time. */
const DEPTH = 8;
/** Number of adjacent dimensions of one row that a thread loads into the tile. */
const BROUGHT = (TILE * DEPTH) / THREADS;
/**
 * Distance in words between two dimensions of a tile. Four words of padding make a warp that stores a tile use all
 * memory banks.
 */
const PITCH = TILE + 4;

/** Whether {@link crossTiles} can execute a command. */
export function takesTiles(engine: Engine, command: CrossReduceCommand): boolean {
  const { extent, others, run, left, right, start, monoid, results } = command;
  const isOneProduct = start.length === 1 && left.length === 1 && right.length === 1 && results.length === 1;
  if (!isOneProduct || !combinesInAnyOrder(monoid)) return false;
  if (capacityOf(extent) < TILE / 2 || capacityOf(others) < TILE / 2 || !cutsRuns(run)) return false;
  return 4 * 2 * DEPTH * PITCH + 16 <= engine.shared && bindsPairs(engine, command);
}

/**
 * Whether runs (groups of consecutive right rows that are folded together) and tiles fit together. Either a run is at
 * least as long as a tile, or a tile consists of whole runs whose length is a multiple of `ROWS`.
 */
function cutsRuns(run: number): boolean {
  return run >= TILE || (run % ROWS === 0 && TILE % run === 0);
}

/**
 * Folds a functor's values over all pairs of vectors, like a tiled matrix multiplication. A workgroup processes a
 * square tile of left and right rows. Each thread processes 8 × 8 pairs, so the thread reads an element from workgroup
 * memory once and uses the element in eight steps. Elements of the next dimensions are loaded while the current
 * dimensions are processed. The values of a tile's pairs are folded in arbitrary order.
 */
export function crossTiles(engine: Engine, command: CrossReduceCommand): void {
  const { extent, others, run, dimensions, left, right, results } = command;
  const { pool } = engine;
  const tiles = Math.ceil(capacityOf(extent) / TILE);
  const span = Math.max(run, TILE);
  const spans = Math.ceil(capacityOf(others) / span);
  const parameters = createParameters(pool);
  const [length, otherLength] = [parameters.length(extent), parameters.length(others)];
  const word = (number: number): string => parameter(parameters.word(number));
  const numbers = {
    ...{ tiles: word(tiles), capacity: word(capacityOf(extent)), runs: word(Math.ceil(capacityOf(others) / run)) },
    ...{ span: word(span), dimensions: word(dimensions), chunks: word(Math.min(run, TILE) / ROWS) },
  };
  const bindings = createBindings(parameters);
  const functors = linkPairs(command, bindings);
  const placed = ({ type, array }: VectorLeaf): Vectors => {
    const slot = bindings.bind(pool.resolve(array.buffer), 'read');
    const isWhole = dimensions % BROUGHT === 0 && array.offset % BROUGHT === 0;
    return { type, slot, offset: word(array.offset), byFours: isWhole && bindings.readByFours(slot) };
  };
  const sides = [placed(left[0]!), placed(right[0]!)] as const;
  const [into] = results.map(({ buffer, offset }) => ({
    slot: bindings.bind(pool.resolve(buffer), 'write'),
    offset: word(offset),
  }));
  const kernel: Kernel = { command, numbers, sides, into: into! };
  const code = (shader: Shader): KernelText => ({
    threads: THREADS,
    declarations: `${functors.declarations(shader)}
var<workgroup> bounds: vec2<u32>;
// Holds the left rows, then the right rows. Later it holds the result of every left row over each thread's right rows.
var<workgroup> tile: array<u32, ${2 * DEPTH * PITCH}>;`,
    main: `if (t == 0u) { bounds = vec2<u32>(${lengthExpression(length)}, ${lengthExpression(otherLength)}); }
let size = workgroupUniformLoad(&bounds);
let x = t % ${SIDE}u; let y = t / ${SIDE}u;
let g = ${GROUP_NUMBER};
let part = g / ${numbers.tiles};
let first = (g - part * ${numbers.tiles}) * ${TILE}u;
let begin = min(part * ${numbers.span}, size.y);
let end = begin + min(${numbers.span}, size.y - begin);
${rowNumbers.map((m) => `var s${m} = identity();`).join(' ')}
for (var j = begin; j < end && first < size.x; j += ${TILE}u) {
${emitSums(kernel)}
${emitFold(kernel)}
}
${emitResults(kernel)}`,
  });
  const shape = [
    ...sides.map(({ type, slot, byFours }) => `${type}${slot}${byFours}`),
    ...[into!.slot, Object.is(command.start[0], -0) ? '-0' : command.start[0], length.raw, otherLength.raw],
  ];
  launch(engine, {
    key: `crossTiles ${functors.key} ${shape.join(' ')}`,
    bindings,
    code,
    groups: tiles * spans,
  });
}

/**
 * The vectors of the left or right table: the element type, the binding, and the WGSL expression of the first element's
 * offset in words.
 */
interface Vectors {
  readonly type: ScalarType;
  readonly slot: number;
  readonly offset: string;
  /** Whether four adjacent elements are read by one load. */
  readonly byFours: boolean;
}

interface Kernel {
  readonly command: CrossReduceCommand;
  readonly numbers: Readonly<Record<'tiles' | 'capacity' | 'runs' | 'span' | 'dimensions' | 'chunks', string>>;
  readonly sides: readonly [Vectors, Vectors];
  readonly into: { readonly slot: number; readonly offset: string };
}

const rowNumbers = numbersTo(ROWS);

/** WGSL that computes the sums of a thread's pairs. */
function emitSums({ command, numbers, sides }: Kernel): string {
  const start = { kind: 'literal', type: entryOf(command.step.module).results[0]!, value: command.start[0]! } as const;
  const sums = rowNumbers.flatMap((m) => rowNumbers.map((n) => `var q${m}_${n} = ${emitLiteral(start)};`));
  const held = sides.flatMap((_, side) => numbersTo(BROUGHT).map((c) => `var h${side}_${c}: u32;`));
  const stores = sides.flatMap((_, side) =>
    numbersTo(BROUGHT).map((c) => `tile[${side * DEPTH * PITCH}u + (dim + ${c}u) * ${PITCH}u + row] = h${side}_${c};`),
  );
  const bring = (base: string): string =>
    sides.map((side, k) => emitBring(side, k, numbers.dimensions, base)).join('\n');
  return `${sums.join(' ')}
${held.join(' ')}
let row = t / ${DEPTH / BROUGHT}u; let dim = t % ${DEPTH / BROUGHT}u * ${BROUGHT}u;
${bring('0u')}
for (var base = 0u; base < ${numbers.dimensions}; base += ${DEPTH}u) {
  workgroupBarrier();
  ${stores.join(' ')}
  workgroupBarrier();
${bring(`base + ${DEPTH}u`)}
  if (base + ${DEPTH}u <= ${numbers.dimensions}) {
    for (var d = 0u; d < ${DEPTH}u; d++) {
${emitSteps(sides)}
    }
  } else {
    for (var d = 0u; d < ${numbers.dimensions} - base; d++) {
${emitSteps(sides)}
    }
  }
}`;
}

/**
 * WGSL that loads a thread's share of a row (a few dimensions) into registers. Registers for elements outside the
 * vectors are not changed.
 */
function emitBring({ slot, offset, byFours }: Vectors, side: number, dimensions: string, base: string): string {
  const [origin, bound] = side === 0 ? ['first', 'size.x'] : ['j', 'end'];
  const isRow = `${origin} + row < ${bound}`;
  const at = `(${origin} + row) * ${dimensions} + ${base} + dim + ${offset}`;
  const words = byFours
    ? `let quad = quad_${slot}((${at}) / 4u); ${[...'xyzw'].map((c, k) => `h${side}_${k} = quad.${c};`).join(' ')}`
    : numbersTo(BROUGHT)
        .map((c) => `if (${base} + dim + ${c}u < ${dimensions}) { h${side}_${c} = load_${slot}(${at} + ${c}u); }`)
        .join(' ');
  return `  if (${isRow} && ${base} + dim < ${dimensions}) { ${words} }`;
}

/**
 * WGSL that updates the sums of a thread's pairs by one dimension. The thread's left rows are `SIDE` rows apart, and
 * its right rows are adjacent.
 */
function emitSteps(sides: Kernel['sides']): string {
  const elements = rowNumbers.flatMap((k) => [
    `let a${k} = ${fromWord(sides[0].type, `tile[d * ${PITCH}u + x + ${k * SIDE}u]`)};`,
    `let b${k} = ${fromWord(sides[1].type, `tile[(${DEPTH}u + d) * ${PITCH}u + y * ${ROWS}u + ${k}u]`)};`,
  ]);
  const steps = rowNumbers.flatMap((m) =>
    rowNumbers.map((n) => `q${m}_${n} = s_entry(base + d, q${m}_${n}, a${m}, b${n});`),
  );
  return `${elements.join('\n')}\n${steps.join('\n')}`;
}

/** WGSL that folds, for each left row of a thread, the values of its pairs with the thread's right rows. */
function emitFold({ command }: Kernel): string {
  const { leftOwn, rightOwn, value } = command;
  const [lefts, rights] = [entryOf(leftOwn.module).results, entryOf(rightOwn.module).results];
  const results = entryOf(value.module).results;
  const own = rowNumbers.map((n) =>
    rights.length === 0 ? '' : `let k${n} = min(j + y * ${ROWS}u + ${n}u, end - 1u); let p${n} = r_entry(k${n});`,
  );
  const rows = rowNumbers.map((m) => {
    const folds = rowNumbers.map((n) => {
      const given = [
        ...[`i`, `q${m}_${n}`],
        ...lefts.map((_, leaf) => resultOf('o', leaf, lefts.length)),
        ...rights.map((_, leaf) => resultOf(`p${n}`, leaf, rights.length)),
      ];
      const worth = resultOf('v', 0, results.length);
      return `if (j + y * ${ROWS}u + ${n}u < end) { let v = v_entry(${given.join(', ')}); s${m} = combine(s${m}, S(${worth})); }`;
    });
    const leftOwn = lefts.length === 0 ? '' : 'let o = l_entry(i);';
    return `{ let i = first + x + ${m * SIDE}u; if (i < size.x) { ${leftOwn}\n${folds.join('\n')} } }`;
  });
  return `${own.join('\n')}\n${rows.join('\n')}`;
}

/**
 * WGSL that combines the folds of all threads that share a left row and a run (consecutive right rows), and stores the
 * results.
 */
function emitResults({ command, numbers, into }: Kernel): string {
  const type = command.monoid.types[0]!;
  const kept = rowNumbers.map((m) => `tile[y * ${TILE}u + x + ${m * SIDE}u] = ${toWord(type, `s${m}.a0`)};`);
  const folded = `combine(sum, S(${fromWord(type, `tile[(k * ${numbers.chunks} + c) * ${TILE}u + row]`)}))`;
  return `workgroupBarrier();
${kept.join(' ')}
workgroupBarrier();
let runs = ${SIDE}u / ${numbers.chunks};
for (var e = t; e < runs * ${TILE}u; e += ${THREADS}u) {
  let row = e % ${TILE}u; let k = e / ${TILE}u;
  var sum = identity();
  for (var c = 0u; c < ${numbers.chunks}; c++) { sum = ${folded}; }
  let r = part * runs + k;
  if (r < ${numbers.runs} && first + row < ${numbers.capacity}) {
    store_${into.slot}(r * ${numbers.capacity} + first + row + ${into.offset}, ${toWord(type, 'sum.a0')});
  }
}`;
}
