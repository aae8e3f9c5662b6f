import type { ScalarType } from '../../../../primitives/ir/ir.ts';

/**
 * WGSL functions that move and combine states of a monoid between the lanes of a subgroup. In WGSL, `lane` is the
 * number of the current lane and `sg` the number of lanes; `width` is the value of `sg` if it is known. States are
 * combined in the order of the lanes.
 */
export function emitLaneFunctions(types: readonly ScalarType[], width: number | undefined): string {
  const moved = (how: string): string => types.map((type, leaf) => movedLeaf(how, type, leaf)).join(', ');
  return `fn lane_up(s: S, by: u32) -> S { return S(${moved('subgroupShuffleUp')}); }
fn lane_down(s: S, by: u32) -> S { return S(${moved('subgroupShuffleDown')}); }
fn lane_at(s: S, by: u32) -> S { return S(${moved('subgroupShuffle')}); }
// Combines the values of all lanes up to this one.
fn lanes_up_to(state: S, lane: u32, sg: u32) -> S {
  var s = state;
  ${forDistances(width, 'let other = lane_up(s, d); if (lane >= d) { s = combine(other, s); }')}
  return s;
}
// Combines all lanes in reverse order: the last lane is the leftmost operand. Only lane 0 has the result.
fn lanes_backwards(state: S, lane: u32, sg: u32) -> S {
  var s = state;
  ${forDistances(width, 'let other = lane_down(s, d); if (lane + d < sg) { s = combine(other, s); }')}
  return s;
}`;
}

/**
 * WGSL that reads one leaf (scalar component) of another lane's state. `how` names the shuffle builtin. In the WGSL, `s`
 * is the state and `by` selects the lane.
 */
export function movedLeaf(how: string, type: ScalarType, leaf: number): string {
  return type === 'bool' ? `${how}(select(0u, 1u, s.a${leaf}), by) != 0u` : `${how}(s.a${leaf}, by)`;
}

/**
 * WGSL that executes `body` for the distances d = 1, 2, 4 … below the number of lanes. The loop is unrolled if the
 * number of lanes is known.
 */
export function forDistances(width: number | undefined, body: string): string {
  if (width === undefined) return `for (var d = 1u; d < sg; d = d << 1u) { ${body} }`;
  const distances = Array.from({ length: Math.log2(width) }, (_, k) => 2 ** k);
  return distances.map((d) => `{ const d = ${d}u; ${body} }`).join('\n  ');
}

/** WGSL for sets of lanes. A set is one word if subgroups have at most 32 lanes, else four words. */
export interface LaneSets {
  readonly type: string;
  /** WGSL of the set of lanes in which a condition is true. */
  ballot(condition: string): string;
  /**
   * WGSL of functions on a set of lanes `m`. `ones(m)` is the number of lanes in `m`. `has_lane(m, lane)` is 1 if `m`
   * contains `lane`, else 0. `first_lane(m)` is the lowest lane in `m`; if `m` is empty, it is past the last lane.
   * `lanes_below(lane)` is the set of all lanes below `lane`.
   */
  readonly functions: string;
}

export function laneSets(max: number): LaneSets {
  return max > 32 ? WIDE_SETS : WORD_SETS;
}

// `first_lane` uses `countOneBits`, because devices have an instruction for this builtin. WGSL's builtin for the lowest
// set bit compiles to many instructions.
const WORD_SETS: LaneSets = {
  type: 'u32',
  ballot: (condition) => `subgroupBallot(${condition}).x`,
  functions: `fn ones(m: u32) -> u32 { return countOneBits(m); }
fn has_lane(m: u32, lane: u32) -> u32 { return (m >> lane) & 1u; }
fn first_lane(m: u32) -> u32 { return countOneBits((m - 1u) & ~m); }
fn lanes_below(lane: u32) -> u32 { return (1u << lane) - 1u; }`,
};

const WIDE_SETS: LaneSets = {
  type: 'vec4<u32>',
  ballot: (condition) => `subgroupBallot(${condition})`,
  functions: `fn ones(m: vec4<u32>) -> u32 { let c = countOneBits(m); return c.x + c.y + c.z + c.w; }
fn has_lane(m: vec4<u32>, lane: u32) -> u32 { return (m[lane >> 5u] >> (lane & 31u)) & 1u; }
fn first_lane(m: vec4<u32>) -> u32 {
  let c = countOneBits((m - vec4<u32>(1u)) & ~m);
  return c.x + select(0u, c.y + select(0u, c.z + select(0u, c.w, c.z == 32u), c.y == 32u), c.x == 32u);
}
fn lanes_below(lane: u32) -> vec4<u32> {
  let first = vec4<u32>(0u, 32u, 64u, 96u);
  let kept = min(vec4<u32>(32u), max(vec4<u32>(lane), first) - first);
  let low = (vec4<u32>(1u) << (kept & vec4<u32>(31u))) - vec4<u32>(1u);
  return select(low, vec4<u32>(0xffffffffu), kept == vec4<u32>(32u));
}`,
};
