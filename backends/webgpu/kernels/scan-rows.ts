import { lines } from './lines.ts';
import { laneSets } from './subgroups.ts';

/**
 * How the threads of a subgroup scan its part of a tile in WGSL: `items` elements a thread, of which `run` lie together, so
 * that a row has `run` times its lanes. Statements see `first`, the thread's first element, and `lane` and `sg`.
 */
export interface ScanRows {
  /** Statements that read elements, given WGSL of the one at an index. */
  read(element: (at: string) => string): string;
  readonly declare: string;
  /** Statements that scan what was read, and `part`, the total of the subgroup's part as the last lane has it. */
  readonly scan: string;
  /** Statements that consume all elements behind a guard, given `outer`, what is before the part. */
  write(guard: string): string;
}

/** Scans states: every lane folds its run, lanes pass on what they have, and rows follow each other. */
export function stateRows(items: number, run: number): ScanRows {
  const rows = items / run;
  const at = (j: number, k: number): string => `first + ${j * run}u * sg + ${k}u`;
  const elements = (line: (j: number, k: number) => string): string =>
    lines(rows, (j) => lines(run, (k) => line(j, k)));
  const folded = (j: number): string =>
    Array.from({ length: run - 1 }, (_, k) => k + 1).reduce((sum, k) => `combine(${sum}, s${j}_${k})`, `s${j}_0`);
  // q is what is before a row in the part, x what is before a lane; a lone element becomes its own inclusive prefix.
  const place = (j: number): string => {
    const row =
      j === 0
        ? 'let q0 = identity();'
        : `let q${j} = ${j === 1 ? 'lane_at(l0, sg - 1u)' : `combine(q${j - 1}, lane_at(l${j - 1}, sg - 1u))`};`;
    const lane = `var x${j} = combine(q${j}, lane_up(l${j}, 1u)); if (lane == 0u) { x${j} = q${j}; }`;
    return `${row} ${lane} ${run === 1 ? `s${j}_0 = combine(q${j}, l${j});` : ''}`;
  };
  const after = (j: number, k: number): string =>
    run === 1 ? `combine(outer, s${j}_0)` : `combine(before, s${j}_${k})`;
  return {
    declare: elements((j, k) => `var s${j}_${k}: S;`),
    read: (element) => elements((j, k) => `s${j}_${k} = ${element(at(j, k))};`),
    scan: `${lines(rows, (j) => `let l${j} = lanes_up_to(${folded(j)}, lane, sg);`)}
${lines(rows, place)}
let part = combine(q${rows - 1}, l${rows - 1});`,
    write: (guard) =>
      lines(
        rows,
        (j) => `{ var before = combine(outer, x${j});
${lines(run, (k) => `{ let i = ${at(j, k)}; let after = ${after(j, k)}; ${guard}{ consume(i, before, after); } before = after; }`)} }`,
      ),
  };
}

/** Scans flags, whose sum over lanes is a count of bits: all that a thread holds is which lanes have one. */
export function flagRows(items: number, most: number): ScanRows {
  const { ballot } = laneSets(most);
  const at = (j: number): string => `first + ${j}u * sg`;
  return {
    declare: lines(items, (j) => `var f${j}: bool;`),
    read: (element) => lines(items, (j) => `f${j} = ${element(at(j))}.a0 != 0u;`),
    scan: `${lines(items, (j) => `let m${j} = ${ballot(`f${j}`)};`)}
let q0 = 0u;
${lines(items, (j) => `let q${j + 1} = q${j} + ones(m${j});`)}
let part = S(q${items});`,
    write: (guard) => `let below = lanes_below(lane);
${lines(items, (j) => `{ let i = ${at(j)}; let before = outer.a0 + q${j} + ones(m${j} & below); ${guard}{ consume(i, S(before), S(before + has_lane(m${j}, lane))); } }`)}`,
  };
}
