import { dispatchWord, GROUP_NUMBER } from '../../launches/parameters.ts';
import type { Silence } from '../../tuning/silence.ts';
import type { SweepTuning } from '../../tuning/tuning.ts';
import { lines } from '../shared/lines.ts';
import { AGGREGATE, INCLUSIVE } from '../shared/look-back.ts';
import { laneSets } from '../shared/subgroups.ts';
import { emitClear } from '../shared/workgroup.ts';
import { DIGITS } from './radix-rows.ts';
import { emitAlike, emitCountsByDigit, emitPlacesByDigit, emitRanks, shareOf } from './ranks.ts';

interface Target {
  /** Number of the column's binding. */
  readonly slot: number;
  /** WGSL of the offset of the column's first word in the binding. */
  readonly offset: string;
}

/** The data that determine the WGSL of a pass. */
export interface SweepText {
  readonly sweep: SweepTuning;
  /** Minimum and maximum number of lanes per subgroup. */
  readonly min: number;
  readonly max: number;
  readonly keys: Target | undefined;
  readonly payload: Target | undefined;
  /**
   * `counts` is the number of the binding with the counts of all digits. `firstCount` is WGSL of the index of the
   * pass's first count in this binding.
   */
  readonly counts: number;
  readonly firstCount: string;
  readonly spine: number;
}

/**
 * Words of the spine (the memory in which tiles publish counts) per tile: for every digit, one word with the state and
 * the low 16 bits of the count; then, for every digit, one word with the high bits.
 */
export const TILE_WORDS: number = 2 * DIGITS;

/** Number of words of workgroup memory that the kernel uses. */
export function sharedWords({ threads, keys, parts }: SweepTuning, min: number): number {
  return Math.max((threads / min) * DIGITS, (threads * keys) / parts) + DIGITS + 2 * (threads / min) + 1;
}

/**
 * WGSL of a pass. Every subgroup processes a range of the tile, with adjacent keys in adjacent lanes. The counts of
 * digits are published first, so that other tiles wait as little as possible. Ballots then find lanes with equal
 * digits, and the first of these lanes reserves places for all of them. Finally keys are reordered within the tile, a
 * part at a time, so that keys with equal digits are written to adjacent places.
 */
export function emitSweep(text: SweepText): { declarations: string; main: string } {
  return { declarations: emitDeclarations(text), main: emitMain(text) };
}

function emitDeclarations({ sweep, min, max, spine }: SweepText): string {
  const { threads, keys, parts } = sweep;
  const groups = threads / min;
  return `var<workgroup> gap: atomic<u32>;
// Holds the digit counts of every subgroup, and later the keys of one part of the tile.
var<workgroup> shared_words: array<atomic<u32>, ${Math.max(groups * DIGITS, (threads * keys) / parts)}>;
// For each digit, the offset from a key's position in the sorted tile to its position in the target.
var<workgroup> bases: array<atomic<u32>, ${DIGITS}>;
var<workgroup> totals: array<vec2<u32>, ${groups}>;
${laneSets(max).functions}
${emitAlike(min, max)}
fn place(tile: u32, d: u32) -> u32 { return tile * ${TILE_WORDS}u + d; }
fn publish(tile: u32, state: u32, d: u32, count: u32) {
  let tag = (${dispatchWord(0)} << 18u) | (state << 16u);
  if (state == ${INCLUSIVE}u) { raise_${spine}(place(tile, d) + ${DIGITS}u, tag | (count >> 16u)); }
  raise_${spine}(place(tile, d), tag | (count & 0xffffu));
}
fn is_silent(word: u32) -> bool { return (word >> 18u) != ${dispatchWord(0)}; }`;
}

function emitMain(text: SweepText): string {
  const { sweep, min } = text;
  const { threads, keys: items, parts } = sweep;
  const tile = threads * items;
  return `let tile = ${GROUP_NUMBER};
let n = count_of_rows();
if (n == 0u || tile > (n - 1u) / ${tile}u) { return; }
let start = tile * ${tile}u;
let inside = min(${tile}u, n - start);
let u = sid * sg + lane;
if (t == 0u) { atomicStore(&gap, 0u); }
// Read. Rows beyond the end get the maximum key, which sorts last.
${lines(items, (k) => `let i${k} = sid * sg * ${items}u + ${k}u * sg + lane; let r${k} = row(start + min(i${k}, inside - 1u)); let key${k} = select(0xffffffffu, r${k}.r0, i${k} < inside); let d${k} = digit(key${k});`)}
${emitClear('shared_words', (threads / min) * DIGITS, threads)}
// Count.
let counters = sid * ${DIGITS}u;
${lines(items, (k) => `atomicAdd(&shared_words[counters + d${k}], 1u);`)}
workgroupBarrier();
${emitCounts(text)}
workgroupBarrier();
// Rank.
${emitRanks(items)}
${lines(parts, (part) => emitPart(text, part))}`;
}

/**
 * WGSL that publishes the tile's count of every digit. The WGSL also replaces each subgroup's count of a digit by the
 * place in the sorted tile of the subgroup's first key with this digit.
 */
function emitCounts({ sweep, min, counts, firstCount }: SweepText): string {
  const { threads, mute }: SweepTuning & Silence = sweep;
  const { own, holders } = shareOf(threads);
  const groups = threads / min;
  const speaks = mute === undefined ? '' : ` && tile % ${mute}u != ${mute - 1}u`;
  const sum = (name: string): string => Array.from({ length: own }, (_, j) => `${name}${j}`).join(' + ');
  return `${emitCountsByDigit(threads, groups)}
${lines(own, (j) => `let all${j} = load_${counts}(${firstCount} + digit${j});`)}
if (${holders}${speaks}) { ${lines(own, (j) => `publish(tile, select(${AGGREGATE}u, ${INCLUSIVE}u, tile == 0u), digit${j}, count${j});`)} }
let sums = select(vec2<u32>(0u), vec2<u32>(${sum('count')}, ${sum('all')}), ${holders});
var firsts = subgroupInclusiveAdd(sums);
if (lane == sg - 1u) { totals[sid] = firsts; }
workgroupBarrier();
firsts -= sums;
${lines(groups - 1, (s) => `firsts += select(vec2<u32>(0u), totals[${s}], ${s}u < sid);`)}
${lines(own, (j) => (j === 0 ? 'let start0 = firsts.x; let target0 = firsts.y;' : `let start${j} = start${j - 1} + count${j - 1}; let target${j} = target${j - 1} + all${j - 1};`))}
${emitPlacesByDigit(threads, groups)}`;
}

/**
 * WGSL that collects one part of the sorted tile in workgroup memory and writes this part to the target. The code of
 * the first part includes the look-back.
 */
function emitPart({ sweep, keys, payload, spine }: SweepText, part: number): string {
  const { threads, keys: items, parts } = sweep;
  const words = (threads * items) / parts;
  const own = items / parts;
  const hand = (value: (k: number) => string): string =>
    lines(items, (k) =>
      parts === 1
        ? `atomicStore(&shared_words[p${k}], ${value(k)});`
        : `{ let x = p${k} - ${part * words}u; if (x < ${words}u) { atomicStore(&shared_words[x], ${value(k)}); } }`,
    );
  const handed = (k: number): string => `atomicLoad(&shared_words[${k * threads}u + t])`;
  const name = (k: number): string => `${part}_${k}`;
  const write = ({ slot, offset }: Target, value: (k: number) => string): string =>
    lines(own, (k) => `if (q${name(k)} < inside) { store_${slot}(to${name(k)} + ${offset}, ${value(k)}); }`);
  return `// Part ${part}.
workgroupBarrier();
${hand((k) => `key${k}`)}
${part === 0 ? emitDigitLookBack(sweep, spine) : 'workgroupBarrier();'}
${lines(own, (k) => `let q${name(k)} = ${part * words + k * threads}u + t; let s${name(k)} = ${handed(k)}; let to${name(k)} = atomicLoad(&bases[digit(s${name(k)})]) + q${name(k)};`)}
${keys === undefined ? '' : write(keys, (k) => `s${name(k)}`)}
${payload === undefined ? '' : `workgroupBarrier();\n${hand((k) => `r${k}.r1`)}\nworkgroupBarrier();\n${write(payload, handed)}`}`;
}

/**
 * WGSL that finds the count of every digit in all preceding tiles. Each thread looks back for its own digits, several
 * tiles at a time. If a tile does not publish its counts in time, all threads count the digits of that tile and publish
 * them.
 */
function emitDigitLookBack(sweep: SweepTuning, spine: number): string {
  const { threads, keys, mute }: SweepTuning & Silence = sweep;
  const { own, holders } = shareOf(threads);
  const tile = threads * keys;
  const speaks = mute === undefined ? 'tile > 0u' : `tile > 0u && tile % ${mute}u != ${mute - 1}u`;
  return `// Look back.
${lines(own, (j) => `var look${j} = tile; var before${j} = 0u;`)}
loop {
  if (${holders}) {
    ${lines(own, (j) => emitDigitWalk(sweep, spine, j))}
    ${lines(
      own,
      (j) => `if (look${j} == 0u) {
      if (${speaks}) { publish(tile, ${INCLUSIVE}u, digit${j}, before${j} + count${j}); }
      atomicStore(&bases[digit${j}], target${j} + before${j} - start${j});
    }
    atomicMax(&gap, look${j});`,
    )}
  }
  let missing = workgroupUniformLoad(&gap);
  if (missing == 0u) { break; }
  if (t == 0u) { atomicStore(&gap, 0u); }
  ${emitClear('bases', DIGITS, threads)}
  for (var i = t; i < ${tile}u; i += ${threads}u) { atomicAdd(&bases[digit(row((missing - 1u) * ${tile}u + i).r0)], 1u); }
  workgroupBarrier();
  if (${holders}) { ${lines(own, (j) => `publish(missing - 1u, select(${AGGREGATE}u, ${INCLUSIVE}u, missing == 1u), digit${j}, atomicLoad(&bases[digit${j}]));`)} }
}`;
}

/**
 * WGSL that looks back for one digit, until it reaches a tile that has published its inclusive total, or a tile that
 * has published nothing for too long.
 */
function emitDigitWalk({ ahead, tries }: SweepTuning, spine: number, j: number): string {
  const [look, before] = [`look${j}`, `before${j}`];
  const words = Array.from({ length: ahead }, (_, a) => `w${a}`);
  const silent = `{ tried++; if (tried > ${tries}u) { break; } continue; }`;
  const step = (a: number): string => `${a === 0 ? '' : `if (${look} == 0u) { break; }`}
      if (is_silent(w${a})) ${silent}
      if (((w${a} >> 16u) & 3u) == ${INCLUSIVE}u) {
        let high = peek_${spine}(place(${look} - 1u, digit${j}) + ${DIGITS}u);
        if (is_silent(high)) ${silent}
        ${before} += (w${a} & 0xffffu) | (high << 16u);
        ${look} = 0u;
      } else {
        ${before} += w${a} & 0xffffu;
        ${look} -= 1u;
      }
      tried = 0u;`;
  return `{
    let aggregate = (${dispatchWord(0)} << 18u) | (${AGGREGATE}u << 16u);
    var tried = 0u;
    loop {
      if (${look} == 0u) { break; }
      ${words.map((w, a) => `let ${w} = peek_${spine}(place(max(${look}, ${a + 1}u) - ${a + 1}u, digit${j}));`).join('\n      ')}
      // Usually, all of these tiles have published only their own counts.
      if (${look} >= ${ahead}u && (${words.map((w) => `(${w} ^ aggregate)`).join(' | ')}) < 65536u) {
        ${before} += ${words.map((w) => `(${w} & 0xffffu)`).join(' + ')};
        ${look} -= ${ahead}u;
        tried = 0u;
        continue;
      }
      ${lines(ahead, step)}
    }
    }`;
}
