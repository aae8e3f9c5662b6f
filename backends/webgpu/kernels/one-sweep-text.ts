import { dispatchWord } from '../parameters.ts';
import type { SweepTuning } from '../tuning.ts';
import { AGGREGATE, INCLUSIVE } from './look-back.ts';
import { DIGITS } from './radix-rows.ts';
import { emitClear } from './workgroup.ts';

interface Target {
  /** Its binding. */
  readonly slot: number;
  /** Its first word, in WGSL. */
  readonly offset: string;
}

/** What the kernel of a pass is written from. */
export interface SweepText {
  readonly sweep: SweepTuning;
  /** Whether subgroups may have more than 32 lanes, and how many they have at least. */
  readonly wide: boolean;
  readonly least: number;
  readonly keys: Target | undefined;
  readonly payload: Target | undefined;
  /** The binding of the counts of all digits, and in WGSL the first one of this pass. */
  readonly starts: number;
  readonly firstCount: string;
  readonly spine: number;
}

/** Words of workgroup memory that the kernel takes. */
export function sharedWords({ threads, keys }: SweepTuning, least: number): number {
  return (threads / least) * DIGITS + threads * keys + 3 * DIGITS + 8;
}

/**
 * The kernel of a pass. Every subgroup has a run of the tile, lane beside lane. Lanes of equal digits find each other by
 * ballots; the first of them adds their number to the subgroup's count of that digit, which ranks them. Keys are sorted
 * within the tile first, so that they leave it in runs.
 */
export function emitSweep(text: SweepText): { declarations: string; main: string } {
  return { declarations: emitDeclarations(text), main: emitMain(text) };
}

function emitDeclarations({ sweep: { threads, keys }, wide, least, spine }: SweepText): string {
  const mask = wide ? 'vec4<u32>' : 'u32';
  const ballot = wide ? 'subgroupBallot(own)' : 'subgroupBallot(own).x';
  const ones = wide
    ? 'let ones = countOneBits(m); return ones.x + ones.y + ones.z + ones.w;'
    : 'return countOneBits(m);';
  const below = wide
    ? `let first = vec4<u32>(0u, 32u, 64u, 96u);
  let kept = min(vec4<u32>(32u), max(vec4<u32>(lane), first) - first);
  return select(select((vec4<u32>(1u) << kept) - vec4<u32>(1u), vec4<u32>(0u), kept == vec4<u32>(0u)), vec4<u32>(0xffffffffu), kept == vec4<u32>(32u));`
    : 'return (1u << lane) - 1u;';
  const first = wide
    ? `for (var w = 0u; w < 4u; w++) { if (m[w] != 0u) { return w * 32u + firstTrailingBit(m[w]); } } return 0u;`
    : 'return firstTrailingBit(m);';
  return `var<workgroup> found_missing: u32;
var<workgroup> gap: atomic<u32>;
var<workgroup> ranks: array<atomic<u32>, ${(threads / least) * DIGITS}>;
var<workgroup> sorted: array<u32, ${threads * keys}>;
var<workgroup> counts: array<atomic<u32>, ${DIGITS}>;
var<workgroup> starts: array<u32, ${DIGITS}>;
var<workgroup> bases: array<u32, ${DIGITS}>;
fn lanes_below(lane: u32) -> ${mask} { ${below} }
fn ones(m: ${mask}) -> u32 { ${ones} }
fn first_lane(m: ${mask}) -> u32 { ${first} }
// The lanes whose digit is d.
fn alike(d: u32) -> ${mask} {
  var m = ${wide ? 'subgroupBallot(true)' : 'subgroupBallot(true).x'};
  for (var b = 0u; b < 8u; b++) {
    let own = ((d >> b) & 1u) == 1u;
    let same = ${ballot};
    m &= select(~same, same, own);
  }
  return m;
}
fn publish(tile: u32, state: u32, d: u32, count: u32) {
  let tag = (${dispatchWord(0)} << 18u) | (state << 16u);
  let at = 1u + (tile * ${DIGITS}u + d) * 2u;
  raise_${spine}(at, tag | (count & 0xffffu));
  raise_${spine}(at + 1u, tag | (count >> 16u));
}
struct Published { state: u32, count: u32 }
fn read_tile(tile: u32, d: u32) -> Published {
  let at = 1u + (tile * ${DIGITS}u + d) * 2u;
  let low = peek_${spine}(at);
  let high = peek_${spine}(at + 1u);
  let tag = low >> 16u;
  let whole = (tag == (high >> 16u)) & ((tag >> 2u) == ${dispatchWord(0)});
  return Published(select(0u, tag & 3u, whole), (low & 0xffffu) | (high << 16u));
}`;
}

const each = (count: number, line: (k: number) => string): string =>
  Array.from({ length: count }, (_, k) => line(k)).join('\n');

function emitMain(text: SweepText): string {
  const { sweep, keys, payload, starts, firstCount, spine } = text;
  const { threads, keys: items, mute } = sweep;
  const tile = threads * items;
  const speaks = mute === undefined ? 'true' : `tile % ${mute}u != ${mute - 1}u`;
  return `if (t == 0u) { found_missing = count_${spine}(0u) - ${dispatchWord(1)}; }
let tile = workgroupUniformLoad(&found_missing);
let n = count_of_rows();
if (tile * ${tile}u >= n) { return; }
let inside = min(${tile}u, n - tile * ${tile}u);
let groups = ${threads}u / sg;
if (t == 0u) { atomicStore(&gap, 0u); }
${emitClear('ranks', `groups * ${DIGITS}u`, threads)}
let run = sid * sg * ${items}u + lane;
let below = lanes_below(lane);
${each(items, (k) => `let i${k} = run + ${k}u * sg; let r${k} = row(tile * ${tile}u + min(i${k}, inside - 1u)); let d${k} = select(${dispatchWord(3)}, digit(r${k}.r0), i${k} < inside);`)}
${each(items, rankKey)}
workgroupBarrier();
for (var d = t; d < ${DIGITS}u; d += ${threads}u) {
  var sum = 0u;
  for (var s = 0u; s < groups; s++) { let own = atomicExchange(&ranks[s * ${DIGITS}u + d], sum); sum += own; }
  atomicStore(&counts[d], sum);
  if (${speaks}) { publish(tile, select(${AGGREGATE}u, ${INCLUSIVE}u, tile == 0u), d, sum); }
}
workgroupBarrier();
if (sid == 0u) {
  var start = 0u; var base = 0u;
  for (var d = lane; d < ${DIGITS}u; d += sg) {
    let count = atomicLoad(&counts[d]); let all = load_${starts}(${firstCount} + d);
    let s = start + subgroupExclusiveAdd(count); let b = base + subgroupExclusiveAdd(all);
    starts[d] = s; bases[d] = b - s;
    start = subgroupShuffle(s + count, sg - 1u); base = subgroupShuffle(b + all, sg - 1u);
  }
}
workgroupBarrier();
${each(items, (k) => `let p${k} = starts[d${k}] + atomicLoad(&ranks[sid * ${DIGITS}u + d${k}]) + rank${k};`)}
${each(items, (k) => `sorted[p${k}] = r${k}.r0;`)}
${emitDigitLookBack(sweep, speaks)}
workgroupBarrier();
${each(items, (k) => `let q${k} = ${k * threads}u + t; let key${k} = sorted[q${k}]; let to${k} = bases[digit(key${k})] + q${k};`)}
${keys === undefined ? '' : each(items, (k) => store(keys, k, `key${k}`))}
${payload === undefined ? '' : emitPayload(payload, items)}`;
}

/** Ranks a key among those of its digit in its subgroup's run so far. */
function rankKey(k: number): string {
  return `let m${k} = alike(d${k}); let before${k} = ones(m${k} & below);
var old${k} = 0u;
if (before${k} == 0u) { old${k} = atomicAdd(&ranks[sid * ${DIGITS}u + d${k}], ones(m${k})); }
let rank${k} = subgroupShuffle(old${k}, first_lane(m${k})) + before${k};`;
}

function store({ slot, offset }: Target, k: number, value: string): string {
  return `if (q${k} < inside) { store_${slot}(to${k} + ${offset}, ${value}); }`;
}

function emitPayload(payload: Target, items: number): string {
  return `workgroupBarrier();
${each(items, (k) => `sorted[p${k}] = r${k}.r1;`)}
workgroupBarrier();
${each(items, (k) => store(payload, k, `sorted[q${k}]`))}`;
}

/**
 * Adds to the bases what the tiles before have of every digit. A thread follows the digits that are its own; where a
 * tile stays silent for one of them, all threads count that tile's digits and publish them.
 */
function emitDigitLookBack({ threads, keys, tries }: SweepTuning, speaks: string): string {
  const own = Math.ceil(DIGITS / threads);
  const tile = threads * keys;
  return `if (tile > 0u) {
  var look: array<u32, ${own}>;
  var sum: array<u32, ${own}>;
  for (var j = 0u; j < ${own}u; j++) { look[j] = tile; }
  loop {
    for (var j = 0u; j < ${own}u; j++) {
      let d = j * ${threads}u + t;
      if (d >= ${DIGITS}u) { break; }
      var tried = 0u;
      loop {
        if (look[j] == 0u) { break; }
        let seen = read_tile(look[j] - 1u, d);
        if (seen.state == 0u) {
          tried++;
          if (tried > ${tries}u) { break; }
          continue;
        }
        sum[j] += seen.count;
        look[j] = select(look[j] - 1u, 0u, seen.state == ${INCLUSIVE}u);
        tried = 0u;
      }
      atomicMax(&gap, look[j]);
    }
    workgroupBarrier();
    if (t == 0u) { found_missing = atomicExchange(&gap, 0u); }
    let missing = workgroupUniformLoad(&found_missing);
    if (missing == 0u) { break; }
    for (var d = t; d < ${DIGITS}u; d += ${threads}u) { starts[d] = atomicExchange(&counts[d], 0u); }
    workgroupBarrier();
    for (var k = 0u; k < ${keys}u; k++) {
      atomicAdd(&counts[digit(row((missing - 1u) * ${tile}u + k * ${threads}u + t).r0)], 1u);
    }
    workgroupBarrier();
    for (var d = t; d < ${DIGITS}u; d += ${threads}u) {
      publish(missing - 1u, select(${AGGREGATE}u, ${INCLUSIVE}u, missing == 1u), d, atomicExchange(&counts[d], starts[d]));
    }
  }
  for (var j = 0u; j < ${own}u; j++) {
    let d = j * ${threads}u + t;
    if (d >= ${DIGITS}u) { break; }
    bases[d] += sum[j];
    if (${speaks}) { publish(tile, ${INCLUSIVE}u, d, sum[j] + atomicLoad(&counts[d])); }
  }
}`;
}
