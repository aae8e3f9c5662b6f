import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { fromWord, toWord } from '../../launches/link.ts';
import { dispatchWord } from '../../launches/parameters.ts';
import { laneSets } from './subgroups.ts';

/**
 * WGSL of the decoupled look-back with fallback (Merrill & Garland 2016; Smith, Levien & Owens, SPAA 2025), with which
 * a scan finds the prefix before each tile in one pass.
 *
 * A tile publishes first its aggregate (total of its elements) with the state `AGGREGATE`, then its inclusive prefix
 * with the state `INCLUSIVE`. Each leaf (scalar component) takes two words, each with 16 bits of payload, 2 of state
 * and 14 of epoch. A reader accepts a tile's words only if all have the current epoch and the same state, so values
 * with any number of leaves need no locks. If a tile has published nothing after `tries` polls, the reader computes the
 * missing aggregate itself and publishes it. No workgroup therefore depends on the progress of another.
 */
export const AGGREGATE = 1;
export const INCLUSIVE = 2;

export interface LookBackText {
  readonly types: readonly ScalarType[];
  /** Number of the binding that holds the spine, the memory in which tiles publish. */
  readonly slot: number;
  /** Maximum number of lanes of a subgroup. */
  readonly max: number;
  /** Number of polls before the reader computes a missing aggregate. */
  readonly tries: number;
  /** For tests: if given, one tile in every `mute` publishes nothing. */
  readonly mute: number | undefined;
}

/** Number of tiles whose words are interleaved, so that lanes that read adjacent tiles read adjacent words. */
const INTERLEAVED = 32;

/** Number of words that `tiles` tiles take in the spine (the memory in which tiles publish). */
export function spineWords(tiles: number, types: readonly ScalarType[]): number {
  return Math.ceil(tiles / INTERLEAVED) * INTERLEAVED * 2 * types.length;
}

/** WGSL of {@link spineWords}, given WGSL of the number of tiles. */
export function emitSpineWords(tiles: string, types: readonly ScalarType[]): string {
  return `(${tiles} + ${INTERLEAVED - 1}u) / ${INTERLEAVED}u * ${INTERLEAVED * 2 * types.length}u`;
}

/**
 * WGSL of two functions: `publish(tile, state, s)` publishes value `s` with `AGGREGATE` or `INCLUSIVE` as the state,
 * and `read_tile(tile)` reads what a tile has published. The first word passed to each dispatch must be the epoch
 * (dispatch number).
 */
export function emitSpine({ types, slot }: Pick<LookBackText, 'types' | 'slot'>): string {
  const word = (leaf: number, half: number): string => `place + ${(2 * leaf + half) * INTERLEAVED}u`;
  const place = `let place = (tile / ${INTERLEAVED}u) * ${2 * types.length * INTERLEAVED}u + tile % ${INTERLEAVED}u;`;
  const payload = (type: ScalarType, leaf: number, half: number): string =>
    `((${toWord(type, `s.a${leaf}`)} >> ${16 * half}u) & 0xffffu)`;
  const halves = types.flatMap((type, leaf) => [0, 1].map((half) => ({ type, leaf, half })));
  const writes = halves.map(
    ({ type, leaf, half }) => `raise_${slot}(${word(leaf, half)}, tag | ${payload(type, leaf, half)});`,
  );
  const reads = halves.map(({ leaf, half }) => `let w${leaf}${half} = peek_${slot}(${word(leaf, half)});`);
  const tags = halves.map(({ leaf, half }) => `((w${leaf}${half} >> 16u) == tag)`);
  const leaves = types.map((type, leaf) => fromWord(type, `((w${leaf}0 & 0xffffu) | (w${leaf}1 << 16u))`));
  return `fn publish(tile: u32, state: u32, s: S) {
  ${place}
  let tag = (${dispatchWord(0)} << 18u) | (state << 16u);
  ${writes.join('\n  ')}
}
struct Published { state: u32, s: S }
fn read_tile(tile: u32) -> Published {
  ${place}
  ${reads.join('\n  ')}
  let tag = w00 >> 16u;
  let whole = ${tags.join(' & ')} & ((tag >> 2u) == ${dispatchWord(0)});
  return Published(select(0u, tag & 3u, whole), S(${leaves.join(', ')}));
}`;
}

/**
 * WGSL statements that find the prefix before `tile`. The first subgroup executes the statements `found` once `prefix`
 * is known, and a barrier follows. The returned statements must be in uniform control flow, because all threads may
 * have to call `aggregate_of(tile, …)`.
 */
export function emitLookBack({ max, tries }: LookBackText, found: string): string {
  const { ballot } = laneSets(max);
  return `var prefix = identity();
var look = tile;
if (tile == 0u) {
  if (sid == 0u) { ${found} }
  workgroupBarrier();
} else {
  loop {
    if (sid == 0u) {
      var state = MISSING;
      var missing = 0u;
      var tried = 0u;
      loop {
        var seen = Published(${AGGREGATE}u, identity());
        if (lane < look) { seen = read_tile(look - 1u - lane); }
        let silent = first_lane(${ballot('seen.state == 0u')});
        let known = first_lane(${ballot(`seen.state == ${INCLUSIVE}u`)});
        if (silent < known) {
          missing = look - 1u - silent;
          tried++;
          if (tried > ${tries}u) { break; }
          continue;
        }
        if (lane > known) { seen.s = identity(); }
        prefix = combine(lane_at(lanes_backwards(seen.s, lane, sg), 0u), prefix);
        if (known < sg || look <= sg) { state = FOUND; break; }
        look -= sg;
        tried = 0u;
      }
      if (state == FOUND) { ${found} }
      if (lane == 0u) { found_state = state; found_missing = missing; }
    }
    if (workgroupUniformLoad(&found_state) == FOUND) { break; }
    let gap = workgroupUniformLoad(&found_missing);
    let aggregate = aggregate_of(gap, n, u, sid, lane, sg);
    if (u == 0u) { publish(gap, select(${AGGREGATE}u, ${INCLUSIVE}u, gap == 0u), aggregate); }
  }
}`;
}

export const lookBackDeclarations = `const MISSING = 0u;
const FOUND = 1u;
var<workgroup> found_state: u32;
var<workgroup> found_missing: u32;`;
