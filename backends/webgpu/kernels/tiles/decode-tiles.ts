import { capacityOf, type DecodeTilesCommand } from '../../../../primitives/contract/backend.ts';
import { createBindings } from '../../launches/bindings.ts';
import { type Engine, type KernelText, launch } from '../../launches/engine.ts';
import { bindArrays, emitProgram, linkProgram, programKey } from '../../launches/link.ts';
import { createParameters, GROUP_NUMBER, lengthExpression, parameter } from '../../launches/parameters.ts';
import type { Helper } from '../../wgsl/wgsl-helpers.ts';
import { lines } from '../shared/lines.ts';

/** Columns of the tiles that the kernel decodes. A row has two blocks. */
const COLUMNS = 64;
/** Adjacent columns of a thread. */
const QUAD = 4;
/** Threads of a row. */
const ACROSS = COLUMNS / QUAD;
/** Adjacent rows of a thread. With 4 the kernel takes 1.15 times as long on an H200. */
const DOWN = 8;
/** Maximum number of rows: the widths of a tile are then one word for each lane of a subgroup of 32. */
const MAX_ROWS = 64;

/** Whether {@link decodeTiles} can execute a command: tiles of 64 columns and 16, 32, 48 or 64 rows. */
export function takesDecoding({ pool, limits, threads }: Engine, command: DecodeTilesCommand): boolean {
  const { columns, rows, tile, words, into } = command;
  if (columns !== COLUMNS || rows % (2 * DOWN) !== 0 || rows > MAX_ROWS || threadsOf(rows) > threads) return false;
  const buffers = [...[...tile.arrays.values(), words].map(({ buffer }) => buffer), into.buffer];
  const memories = new Set(buffers.map((buffer) => pool.resolve(buffer)));
  return [...memories].reduce((sum, { parts }) => sum + parts.length, 0) < limits.storageBuffers;
}

function threadsOf(rows: number): number {
  return (rows / DOWN) * ACROSS;
}

/**
 * Decodes tiles of 64 columns, one in each workgroup. A thread unpacks four columns of eight rows, and adds up its rows
 * downwards in registers. Threads below add the sums of those above, which are in workgroup memory. At last the threads
 * of a row add up their columns. With subgroups, lanes hold the widths of all blocks and find where each block starts.
 */
export function decodeTiles(engine: Engine, command: DecodeTilesCommand): void {
  const { extent, tile, words, rows, bits, into } = command;
  const { pool, arithmetic, subgroups } = engine;
  const parameters = createParameters(pool);
  const length = parameters.length(extent);
  const word = (value: number): string => parameter(parameters.word(value));
  const [offset, count, to] = [word(words.offset), word(capacityOf(words.length)), word(into.word)];
  const program = linkProgram('t_', tile, parameters, pool, extent);
  const bindings = createBindings();
  const slots = bindArrays(program, bindings);
  const read = bindings.bind(pool.resolve(words.buffer), 'read');
  const write = bindings.bind(pool.resolve(into.buffer), 'write');
  const inLanes = subgroups !== undefined && subgroups.min >= 32;
  const code = (): KernelText => {
    const helpers = new Set<Helper>();
    const functions = emitProgram(program, slots, arithmetic, helpers);
    return {
      threads: threadsOf(rows),
      subgroups: inLanes,
      helpers,
      declarations: `${functions}
var<workgroup> above: array<vec4<u32>, ${(rows / DOWN) * ACROSS}>;
${inLanes ? '' : `var<workgroup> used: array<u32, ${rows / 2}>;\nvar<workgroup> across: array<u32, ${rows * ACROSS}>;`}
${emitUnpack(read, offset)}`,
      main: `let g = ${GROUP_NUMBER};
let place = t_entry(g);
let start = place.r0;
let isTile = g < ${lengthExpression(length)};
let has_widths = isTile && start <= ${count} && ${count} - start >= ${rows / 2}u;
${emitStarts(rows, inLanes, read, offset)}
let fits = has_widths && total <= ${count} - start - ${rows / 2}u;
let q = t % ${ACROSS}u; let strip = t / ${ACROSS}u;
let last = max(${count}, 1u) - 1u;
let origin = start + ${rows / 2}u;
${emitRows(inLanes)}
${emitAcross(inLanes)}
if (fits) {
${lines(DOWN, (r) => emitStore(write, bits, to, rows, r))}
} else if (isTile) {
${lines(DOWN, (r) => emitZeros(write, bits, to, rows, r))}
}`,
    };
  };
  const key = [rows, bits, inLanes, read, write, length.raw];
  launch(engine, {
    key: `decodeTiles ${programKey(program, slots)} ${key.join(' ')}`,
    parameters,
    bindings,
    code,
    groups: capacityOf(extent),
  });
}

/**
 * WGSL functions that unpack four residuals. `at` is the index of the first word of their block, `k` the number of the
 * first of them in the block, and `w` their width in bits. Words past the last one are not read.
 */
function emitUnpack(read: number, offset: string): string {
  return `// The 32 bits from a bit of a block on.
fn bits_from(at: u32, bit: u32, last: u32) -> u32 {
  let word = at + (bit >> 5u);
  let low = load_${read}(min(word, last) + ${offset});
  let high = load_${read}(min(word + 1u, last) + ${offset});
  return (low >> (bit & 31u)) | ((high << 1u) << (31u - (bit & 31u)));
}
fn residuals(at: u32, k: u32, w: u32, last: u32) -> vec4<u32> {
  let bit = k * w;
  let mask = select(0u, 0xffffffffu >> (32u - w), w != 0u);
  var s = vec4<u32>();
  if (w <= 8u) {
    let all = bits_from(at, bit, last);
    s = vec4<u32>(all, all >> w, all >> (2u * w), all >> ((3u * w) & 31u));
  } else if (w <= 16u) {
    let low = bits_from(at, bit, last);
    let high = bits_from(at, bit + 2u * w, last);
    s = vec4<u32>(low, low >> w, high, high >> w);
  } else {
    s = vec4<u32>(bits_from(at, bit, last), bits_from(at, bit + w, last), bits_from(at, bit + 2u * w, last), bits_from(at, bit + 3u * w, last));
  }
  s &= vec4<u32>(mask);
  return (s >> vec4<u32>(1u)) ^ (vec4<u32>() - (s & vec4<u32>(1u)));
}
// The words that the first n blocks of a word of four widths take.
fn words_before(widths: u32, n: u32) -> u32 {
  var sum = 0u;
  for (var k = 0u; k < 4u; k++) { sum += select(0u, min(32u, (widths >> (8u * k)) & 255u), k < n); }
  return sum;
}`;
}

/**
 * WGSL that finds where blocks start: `widths_of(w)` and `before(w)` are a word of four widths, and the number of words
 * that all blocks before it take. `total` is the number of words of all blocks.
 */
function emitStarts(rows: number, inLanes: boolean, read: number, offset: string): string {
  const words = rows / 2;
  const load = (index: string): string => `load_${read}(start + ${index} + ${offset})`;
  if (inLanes) {
    return `var own = 0u;
if (has_widths && lane < ${words}u) { own = ${load('lane')}; }
let sum = words_before(own, 4u);
let ahead = subgroupExclusiveAdd(sum);
let total = subgroupAdd(sum);`;
  }
  return `if (t < ${words}u) { used[t] = 0u; if (has_widths) { used[t] = ${load('t')}; } }
workgroupBarrier();
var total = 0u;
for (var k = 0u; k < ${words}u; k++) { total += words_before(used[k], 4u); }`;
}

/** WGSL that unpacks the cells of a thread, and adds up each column of the tile downwards. Row r is in `c{r}`. */
function emitRows(inLanes: boolean): string {
  const words = DOWN / 2;
  const found = lines(words, (k) => {
    const index = `strip * ${words}u + ${k}u`;
    return inLanes
      ? `let widths${k} = subgroupShuffle(own, ${index}); let from${k} = subgroupShuffle(ahead, ${index});`
      : `let widths${k} = used[${index}]; var from${k} = 0u;
for (var k = 0u; k < ${index}; k++) { from${k} += words_before(used[k], 4u); }`;
  });
  const cells = lines(DOWN, (r) => {
    const word = Math.floor(r / 2);
    const sum = r === 0 ? '' : `c${r - 1} + `;
    return `var c${r} = vec4<u32>();
{ let n = ${2 * (r % 2)}u + q / ${ACROSS / 2}u;
  let w = min(32u, (widths${word} >> (8u * n)) & 255u);
  if (fits) { c${r} = residuals(origin + from${word} + words_before(widths${word}, n), (q * ${QUAD}u) & 31u, w, last); }
  ${r === 0 ? 'if (t == 0u) { c0.x += place.r1; }' : ''} }
c${r} = ${sum}c${r};`;
  });
  return `${found}
${cells}
above[t] = c${DOWN - 1};
workgroupBarrier();
var higher = vec4<u32>();
for (var k = 0u; k < strip; k++) { higher += above[k * ${ACROSS}u + q]; }
${lines(DOWN, (r) => `c${r} += higher;`)}`;
}

/** WGSL that adds up the columns of each row to the right. */
function emitAcross(inLanes: boolean): string {
  const within = lines(DOWN, (r) => `c${r}.y += c${r}.x; c${r}.z += c${r}.y; c${r}.w += c${r}.z;`);
  if (inLanes) {
    const steps = [1, 2, 4, 8].map((d) =>
      lines(DOWN, (r) => `{ let other = subgroupShuffleUp(e${r}, ${d}u); e${r} += select(0u, other, q >= ${d}u); }`),
    );
    return `${within}
${lines(DOWN, (r) => `var e${r} = c${r}.w;`)}
${steps.join('\n')}
${lines(DOWN, (r) => `c${r} += vec4<u32>(e${r} - c${r}.w);`)}`;
  }
  const row = (r: number): string => `(strip * ${DOWN}u + ${r}u) * ${ACROSS}u`;
  return `${within}
${lines(DOWN, (r) => `across[${row(r)} + q] = c${r}.w;`)}
workgroupBarrier();
${lines(
  DOWN,
  (r) => `{ var left = 0u;
  for (var k = 0u; k < q; k++) { left += across[${row(r)} + k]; }
  c${r} += vec4<u32>(left); }`,
)}`;
}

/** WGSL of the index of the first word that a thread stores of its row r. */
function placeOf(bits: number, to: string, rows: number, r: number): string {
  return `((g * ${rows}u + strip * ${DOWN}u + ${r}u) * ${ACROSS}u + q) * ${bits / 8}u + ${to}`;
}

function emitStore(write: number, bits: number, to: string, rows: number, r: number): string {
  const c = `c${r}`;
  const half = (low: string, high: string): string => `(${c}.${low} & 0xffffu) | (${c}.${high} << 16u)`;
  const bytes = [...'xyzw'].map((leaf, k) => `((${c}.${leaf} & 0xffu) << ${8 * k}u)`).join(' | ');
  const words = bits === 32 ? [...'xyzw'].map((leaf) => `${c}.${leaf}`) : bits === 16 ? [half('x', 'y'), half('z', 'w')] : [bytes]; // biome-ignore format: one line
  return `{ let at = ${placeOf(bits, to, rows, r)}; ${words.map((value, k) => `store_${write}(at + ${k}u, ${value});`).join(' ')} }`;
}

function emitZeros(write: number, bits: number, to: string, rows: number, r: number): string {
  const stores = lines(bits / 8, (k) => `store_${write}(at + ${k}u, 0u);`);
  return `{ let at = ${placeOf(bits, to, rows, r)}; ${stores} }`;
}
