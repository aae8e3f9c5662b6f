import type { ScalarType } from '../../../primitives/functors/ir.ts';

/**
 * WGSL that moves states of a monoid between the lanes of a subgroup (`sg` lanes, this one is `lane`), in order: lane
 * by lane states go from left to right. `width` is `sg` where that is known.
 */
export function emitLaneFunctions(types: readonly ScalarType[], width: number | undefined): string {
  const moved = (how: string): string =>
    types
      .map((type, leaf) =>
        type === 'bool' ? `${how}(select(0u, 1u, s.a${leaf}), by) != 0u` : `${how}(s.a${leaf}, by)`,
      )
      .join(', ');
  return `fn lane_up(s: S, by: u32) -> S { return S(${moved('subgroupShuffleUp')}); }
fn lane_down(s: S, by: u32) -> S { return S(${moved('subgroupShuffleDown')}); }
fn lane_at(s: S, by: u32) -> S { return S(${moved('subgroupShuffle')}); }
// The combination of the lanes up to this one.
fn lanes_up_to(state: S, lane: u32, sg: u32) -> S {
  var s = state;
  ${forDistances(width, 'let other = lane_up(s, d); if (lane >= d) { s = combine(other, s); }')}
  return s;
}
// In lane 0: the combination of all lanes, the last one on the left.
fn lanes_backwards(state: S, lane: u32, sg: u32) -> S {
  var s = state;
  ${forDistances(width, 'let other = lane_down(s, d); if (lane + d < sg) { s = combine(other, s); }')}
  return s;
}`;
}

/** Statements for the distances 1, 2, 4 … below the lanes of a subgroup; written out where they are known. */
function forDistances(width: number | undefined, body: string): string {
  if (width === undefined) return `for (var d = 1u; d < sg; d = d << 1u) { ${body} }`;
  const distances = Array.from({ length: Math.log2(width) }, (_, k) => 2 ** k);
  return distances.map((d) => `{ const d = ${d}u; ${body} }`).join('\n  ');
}
