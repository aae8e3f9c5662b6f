import type { MonoidProgram } from '../../../../primitives/contract/backend.ts';
import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { combineGraph } from '../../../analyses/monoid-shapes.ts';
import { noSlots } from '../../../analyses/straight-line.ts';
import { emitModule, resultOf, type Shader } from '../../wgsl/emit-wgsl.ts';
import { moduleOfNodes } from '../../wgsl/graph-module.ts';
import { lines } from '../shared/lines.ts';
import { noCaptures } from '../shared/record.ts';
import { forDistances, laneSets, movedLeaf } from '../shared/subgroups.ts';
import type { RunCode } from './run-code.ts';
import { at, consumeRow, eachElement, insideRows, type ScanRows } from './scan-rows.ts';
import type { KeptRows } from './scan-sink.ts';

/** Maximum number of lanes per subgroup. The set of lanes that have heads (starts of segments) must fit in one word. */
export const MAX_LANES = 32;
/**
 * Maximum number of elements per run (adjacent elements of one thread). A word holds the heads (starts of segments) of
 * a run as bits, and the number of heads in all lanes must fit in half a word.
 */
export const MAX_RUN = 16;

/**
 * The rows of a segmented scan. A row consists of one run (adjacent elements of one thread) of every lane. Heads are
 * the elements that start a segment. The first leaf (scalar component) of a state is the number of heads so far. The
 * other leaves, called values, restart at every head. A thread holds the heads of a run as bits of a word. Lanes
 * exchange the head counts of several rows in one word, but the values of each row separately. A ballot finds the lanes
 * that have heads, so that values restart at these lanes. The statements call the WGSL functions of
 * {@link emitNumbering}.
 *
 * Source: Sengupta, Harris, Zhang and Owens, Scan Primitives for GPU Computing, 2007, for segmented scans of a warp.
 */
export function numberedRows(
  items: number,
  run: number,
  types: readonly ScalarType[],
  kept: KeptRows,
  code?: RunCode,
): ScanRows {
  const rows = items / run;
  const { ballot } = laneSets(MAX_LANES);
  const bits = run * MAX_LANES < 256 ? 8 : 16;
  const inWord = 32 / bits;
  const words = Math.ceil(rows / inWord);
  const head = (j: number, k: number): string => `((h${j} & ${1 << k}u) != 0u)`;
  const next = (before: string, j: number, k: number): string => `next(${before}, s${j}_${k}, ${head(j, k)})`;
  const folded = (j: number): string =>
    Array.from({ length: run - 1 }, (_, k) => k + 1).reduce((sum, k) => next(sum, j, k), `s${j}_0`);
  const countsOf = (word: number): string =>
    Array.from({ length: Math.min(inWord, rows - word * inWord) }, (_, j) => {
      const ones = `countOneBits(h${word * inWord + j})`;
      return j === 0 ? ones : `(${ones} << ${j * bits}u)`;
    }).join(' | ');
  const count = (name: string, j: number): string => {
    const word = `${name}${Math.floor(j / inWord)}`;
    const low = (j % inWord) * bits;
    return low === 0 ? `(${word} & ${2 ** bits - 1}u)` : `((${word} >> ${low}u) & ${2 ** bits - 1}u)`;
  };
  // q is the prefix before a row, and x is the prefix before a lane's run in this row. Both prefixes start at the
  // beginning of the subgroup's part of the tile.
  const place = (j: number): string => {
    const before = `combine(q${j - 1}, counted(${count('e', j - 1)}, values_at(l${j - 1}, sg - 1u)))`;
    return `let q${j} = ${j === 0 ? 'identity()' : before};
var x${j} = combine(q${j}, counted(${count('p', j)}, values_up(l${j}, 1u))); if (lane == 0u) { x${j} = counted(x${j}.a0, q${j}); }`;
  };
  const after = (j: number, k: number): string => next('before', j, k);
  const values = (j: number, k: number): string =>
    types
      .slice(1)
      .map((_, leaf) => `, ${code!.leaf(j, k, leaf + 1)}`)
      .join('');
  const bit = (j: number, k: number): string => `select(0u, ${1 << k}u, ${code!.leaf(j, k, 0)})`;
  const setHeads = (j: number): string => `h${j} = ${Array.from({ length: run }, (_, k) => bit(j, k)).join(' | ')};`;
  const read = (j: number, element: (at: string) => string): string =>
    lines(
      run,
      (k) =>
        `{ let e = ${element(at(run, j, k))}; s${j}_${k} = counted(0u, e); h${j} |= select(0u, ${1 << k}u, e.a0 != 0u); }`,
    );
  const write = (j: number, guard: string): string => consumeRow(j, run, after, guard, kept);
  return {
    declare: `${eachElement(rows, run, (j, k) => `var s${j}_${k}: S;`)}
${lines(rows, (j) => `var h${j} = 0u;`)}`,
    read: (element) => lines(rows, (j) => read(j, element)),
    scan: `${lines(
      words,
      (word) => `let c${word} = ${countsOf(word)};
let d${word} = counts_up_to(c${word}, lane, sg);
let p${word} = d${word} - c${word};
let e${word} = subgroupShuffle(d${word}, sg - 1u);`,
    )}
${lines(rows, (j) => `let l${j} = values_up_to(${folded(j)}, ${ballot(`h${j} != 0u`)}, lane, sg);`)}
${lines(rows, place)}
let part = combine(q${rows - 1}, counted(${count('d', rows - 1)}, l${rows - 1}));`,
    write: (guard) => lines(rows, (j) => write(j, guard)),
    inside:
      code &&
      insideRows(rows, run, code, {
        take: (j, k) => `s${j}_${k} = S(0u${values(j, k)});${k === run - 1 ? ` ${setHeads(j)}` : ''}`,
        after,
        head,
        read,
        write,
      }),
  };
}

/**
 * WGSL of several functions. `mixed(a, b)` combines only the values of two states. `next(a, s, head)` appends to state
 * `a` an element with the values of `s` and the head flag `head`. The other functions move counts and values between
 * lanes. `inner` is the monoid of the values.
 */
export function emitNumbering(inner: MonoidProgram, width: number | undefined, shader: Shader): string {
  const { types } = inner;
  const each = (leaf: (type: ScalarType, at: number) => string): string =>
    types.map((type, k) => `, ${leaf(type, k + 1)}`).join('');
  const { left, right, results } = combineGraph(inner);
  const values = moduleOfNodes('values', [...left, ...right], results!, noSlots);
  const args = ['a', 'b'].flatMap((state) => types.map((_, k) => `${state}.a${k + 1}`)).join(', ');
  const moved = (how: string): string => `S(0u${each((type, leaf) => movedLeaf(how, type, leaf))})`;
  return `${emitModule(values, { ...shader, prefix: 'v_', ...noCaptures })}
fn counted(count: u32, s: S) -> S { return S(count${each((_, leaf) => `s.a${leaf}`)}); }
fn mixed(a: S, b: S) -> S { let r = v_entry(${args}); return S(0u${each((_, leaf) => resultOf('r', leaf - 1, types.length))}); }
fn next(a: S, s: S, head: bool) -> S {
  let m = mixed(a, s);
  return S(a.a0 + select(0u, 1u, head)${each((_, leaf) => `select(m.a${leaf}, s.a${leaf}, head)`)});
}
fn values_up(s: S, by: u32) -> S { return ${moved('subgroupShuffleUp')}; }
fn values_at(s: S, by: u32) -> S { return ${moved('subgroupShuffle')}; }
fn counts_up_to(state: u32, lane: u32, sg: u32) -> u32 {
  var c = state;
  ${forDistances(width, 'let other = subgroupShuffleUp(c, d); c += select(0u, other, lane >= d);')}
  return c;
}
// Combines the values from the last lane with a head up to this lane.
fn values_up_to(state: S, heads: u32, lane: u32, sg: u32) -> S {
  var s = counted(0u, state);
  let ends = (heads | 1u) << (31u - lane);
  ${forDistances(width, 'let other = values_up(s, d); if (ends < (0x80000000u >> (d - 1u))) { s = mixed(other, s); }')}
  return s;
}`;
}
