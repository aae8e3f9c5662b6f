import type { DecodeTilesCommand } from '../../../../primitives/contract/backend.ts';
import { widthOf } from '../../device/device.ts';
import type { Engine } from '../../launches/engine.ts';
import { lines } from '../shared/lines.ts';

/** Adjacent columns of a thread. */
const QUAD = 4;
/** Adjacent rows of a thread. With 4 the kernel takes 1.15 times as long on an H200. */
export const DOWN = 8;
/** Lanes that share the widths of a tile: one for every two rows. */
const LANES = 32;

export type TileShape = Pick<DecodeTilesCommand, 'columns' | 'rows'>;

/** A tile's shape, in threads and in the words of its widths. */
export interface Shape {
  readonly columns: number;
  readonly rows: number;
  /** Threads of a row. */
  readonly across: number;
  readonly threads: number;
  /** Words of the widths of two rows, a byte each, which a lane has, and of all rows. */
  readonly own: number;
  readonly words: number;
  /** Whether lanes of subgroups share widths and sums, in place of workgroup memory. */
  readonly inLanes: boolean;
}

export function shapeOf({ subgroups }: Engine, { columns, rows }: TileShape): Shape {
  const across = columns / QUAD;
  const own = columns / 64;
  const inLanes = subgroups !== undefined && widthOf(subgroups) === LANES;
  return { columns, rows, across, threads: (rows / DOWN) * across, own, words: (own * rows) / 2, inLanes };
}

/** Whether a workgroup can decode a tile of a shape: 64, 128 or 256 columns and 16, 32, 48 or 64 rows. */
export function takesShape(engine: Engine, tile: TileShape, moreBytes = 0): boolean {
  const { columns, rows } = tile;
  if (![64, 128, 256].includes(columns) || rows % (2 * DOWN) !== 0 || rows > 2 * LANES) return false;
  const { threads } = shapeOf(engine, tile);
  return threads <= engine.threads && sharedBytes(threads) + moreBytes <= engine.shared;
}

/** Bytes of workgroup memory: sums of columns, sums of rows, and the widths with the sums of those before. */
function sharedBytes(threads: number): number {
  return threads * 16 + threads * 4 + 2 * 128 * 4;
}

/** Where a kernel finds tiles, as WGSL. */
interface Encoded {
  /** Number of the binding of the words, the index of the first word, and their number. */
  readonly read: number;
  readonly offset: string;
  readonly count: string;
  /** The number of tiles. */
  readonly tiles: string;
}

/** WGSL declarations of what {@link emitCells} uses. */
export function emitDecoder({ threads, words, inLanes }: Shape, { read, offset }: Encoded): string {
  return `var<workgroup> above: array<vec4<u32>, ${threads}>;
var<workgroup> left: array<u32, ${threads}>;
${inLanes ? '' : `var<workgroup> stored: array<u32, ${words}>;\nvar<workgroup> before: array<u32, ${words}>;`}
${emitUnpack(read, offset)}`;
}

/**
 * WGSL that decodes tile `g`, which begins at `place.r0`, and whose first residual counts from `place.r1`. Thread t has the
 * four cells `c{r}` from column 4q on of row r of the eight rows of `strip`. `fits` is whether the tile is whole, and
 * `is_tile` whether there is such a tile; otherwise cells are meaningless.
 */
export function emitCells(shape: Shape, { read, offset, count, tiles }: Encoded): string {
  return `let start = place.r0;
let is_tile = g < ${tiles};
let last = max(${count}, 1u) - 1u;
let head = load_${read}(min(start, last) + ${offset});
let bits = min((head >> 8u) & 255u, 6u);
// Words that the widths of all blocks take.
let size = (((bits * ${4 * shape.words}u + 7u) >> 3u) + 5u) >> 2u;
let has_widths = is_tile && start < ${count} && ${count} - start >= size;
let q = t % ${shape.across}u; let strip = t / ${shape.across}u;
${shape.inLanes ? emitStartsInLanes(shape) : emitStarts(shape)}
let fits = has_widths && total <= ${count} - start - size;
let origin = start + size;
${emitRows(shape)}
${shape.inLanes ? emitAcrossInLanes(shape) : emitAcross()}`;
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
// The widths of the four blocks from 4k on, a byte each.
fn widths_of(start: u32, k: u32, head: u32, bits: u32, last: u32) -> u32 {
  let all = bits_from(start, 16u + 4u * k * bits, last);
  let each = vec4<u32>(all, all >> bits, all >> (2u * bits), all >> (3u * bits)) & vec4<u32>((1u << bits) - 1u);
  let widths = min(vec4<u32>(32u), each + vec4<u32>(head & 255u));
  return widths.x | (widths.y << 8u) | (widths.z << 16u) | (widths.w << 24u);
}
// The words that the first n blocks of four with these widths take.
fn words_before(widths: u32, n: u32) -> u32 {
  let both = (widths & 0xff00ffu) + ((widths >> 8u) & 0xff00ffu);
  let all = (both & 0xffffu) + (both >> 16u);
  return select(select(all - (widths >> 24u), select(both & 0xffffu, select(widths & 255u, 0u, n == 0u), n < 2u), n < 3u), all, n == 4u);
}`;
}

/**
 * WGSL that lets each lane load the widths of two rows, `own`, and find the number of words of all blocks before each of
 * these words, `ahead`. Then finds both for the word with the widths of a thread's row r, `widths{r}` and `from{r}`.
 * `total` is the number of words of all blocks.
 */
function emitStartsInLanes({ own, words }: Shape): string {
  const loads = lines(
    own,
    (k) => `var own${k} = 0u;
if (has_widths && lane * ${own}u + ${k}u < ${words}u) { own${k} = widths_of(start, lane * ${own}u + ${k}u, head, bits, last); }
let ahead${k} = ${k === 0 ? '0u' : `ahead${k - 1} + words_before(own${k - 1}, 4u)`};`,
  );
  // A row of 256 columns has two words of widths. A subgroup has the cells of one of them.
  const chosen = (name: string, k: number): string =>
    own === 4 ? `select(${name}${2 * k}, ${name}${2 * k + 1}, q >= 32u)` : `${name}${k}`;
  const picked = lines(
    own === 1 ? 1 : 2,
    (k) => `let mine${k} = ${chosen('own', k)}; let until${k} = earlier + ${chosen('ahead', k)};`,
  );
  const found = lines(DOWN, (r) => {
    const k = own === 1 ? 0 : r % 2;
    const source = `strip * ${DOWN / 2}u + ${Math.floor(r / 2)}u`;
    return `let widths${r} = subgroupShuffle(mine${k}, ${source}); let from${r} = subgroupShuffle(until${k}, ${source});`;
  });
  return `${loads}
let in_lane = ahead${own - 1} + words_before(own${own - 1}, 4u);
let earlier = subgroupExclusiveAdd(in_lane);
let total = subgroupAdd(in_lane);
${picked}
${found}`;
}

/** As {@link emitStartsInLanes}, with the widths in workgroup memory. */
function emitStarts({ columns, words, threads }: Shape): string {
  const found = lines(DOWN, (r) => {
    const word = `((strip * ${DOWN}u + ${r}u) * ${columns / 32}u + q / 8u) >> 2u`;
    return `let widths${r} = stored[${word}]; let from${r} = before[${word}];`;
  });
  return `for (var k = t; k < ${words}u; k += ${threads}u) { stored[k] = 0u; if (has_widths) { stored[k] = widths_of(start, k, head, bits, last); } }
workgroupBarrier();
for (var k = t; k < ${words}u; k += ${threads}u) {
  var sum = 0u;
  for (var j = 0u; j < k; j++) { sum += words_before(stored[j], 4u); }
  before[k] = sum;
}
workgroupBarrier();
let total = before[${words - 1}u] + words_before(stored[${words - 1}u], 4u);
${found}`;
}

/** WGSL that unpacks the cells of a thread, and adds up each column of the tile downwards. Row r is in `c{r}`. */
function emitRows({ columns, across }: Shape): string {
  const cells = lines(DOWN, (r) => {
    const inWord = columns === 64 ? `${2 * (r % 2)}u + q / 8u` : '(q / 8u) & 3u';
    return `var c${r} = vec4<u32>();
{ let n = ${inWord};
  let w = (widths${r} >> (8u * n)) & 255u;
  if (fits) { c${r} = residuals(origin + from${r} + words_before(widths${r}, n), (q * ${QUAD}u) & 31u, w, last); }
  ${r === 0 ? 'if (t == 0u) { c0.x += place.r1; }' : ''} }
${r === 0 ? '' : `c${r} += c${r - 1};`}`;
  });
  return `${cells}
above[t] = c${DOWN - 1};
workgroupBarrier();
var higher = vec4<u32>();
for (var k = 0u; k < strip; k++) { higher += above[k * ${across}u + q]; }
${lines(DOWN, (r) => `c${r} += higher;`)}
${lines(DOWN, (r) => `c${r}.y += c${r}.x; c${r}.z += c${r}.y; c${r}.w += c${r}.z;`)}`;
}

/** WGSL that adds up the columns of each row to the right, by lanes. A row of 256 columns is that of two subgroups. */
function emitAcrossInLanes({ across }: Shape): string {
  const lanes = Math.min(LANES, across);
  const distances = [1, 2, 4, 8, 16].filter((d) => d < lanes);
  const steps = distances.map((d) =>
    lines(
      DOWN,
      (r) =>
        `{ let other = subgroupShuffleUp(e${r}, ${d}u); e${r} += select(0u, other, (q & ${lanes - 1}u) >= ${d}u); }`,
    ),
  );
  const other = `if (q == ${LANES - 1}u) { ${lines(DOWN, (r) => `left[strip * ${DOWN}u + ${r}u] = e${r};`)} }
workgroupBarrier();
if (q >= ${LANES}u) { ${lines(DOWN, (r) => `c${r} += vec4<u32>(left[strip * ${DOWN}u + ${r}u]);`)} }`;
  return `${lines(DOWN, (r) => `var e${r} = c${r}.w;`)}
${steps.join('\n')}
${lines(DOWN, (r) => `c${r} += vec4<u32>(e${r} - c${r}.w);`)}
${across > LANES ? other : ''}`;
}

/** As {@link emitAcrossInLanes}, in workgroup memory. */
function emitAcross(): string {
  return lines(
    DOWN,
    (r) => `workgroupBarrier();
left[t] = c${r}.w;
workgroupBarrier();
{ var sum = 0u;
  for (var k = t - q; k < t; k++) { sum += left[k]; }
  c${r} += vec4<u32>(sum); }`,
  );
}
