import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { lines } from '../shared/lines.ts';
import { laneSets } from '../shared/subgroups.ts';
import type { RunCode } from './run-code.ts';
import type { KeptRows } from './scan-sink.ts';

/**
 * WGSL with which a subgroup scans its part of a tile. Every thread has `items` elements in runs of `run` adjacent
 * elements. A row consists of one run of every lane. Statements can use `first` (index of the thread's first element),
 * `lane` and `sg` (number of lanes).
 */
export interface ScanRows {
  /** Statements that read all elements of a thread. `element` returns WGSL of the element at an index. */
  read(element: (at: string) => string): string;
  readonly declare: string;
  /** Statements that scan the elements. They set `part` in the last lane to the total of the subgroup's part. */
  readonly scan: string;
  /**
   * Statements that store the results of all elements, each behind the condition `guard`. The variable `outer` is the
   * prefix before the subgroup's part.
   */
  write(guard: string): string;
  /**
   * Statements to use instead of those of `read` and `write`, if given. They process most rows with unrolled programs,
   * but not the first row of the scan and the rows at the end.
   */
  readonly inside?: { readonly read: string; readonly write: string } | undefined;
}

/**
 * The rows of a scan of states. Every lane folds its run (adjacent elements), the lanes scan the totals of the runs,
 * and the total of each row is combined into the next row.
 */
export function stateRows(
  items: number,
  run: number,
  types: readonly ScalarType[],
  kept: KeptRows,
  code?: RunCode,
): ScanRows {
  const rows = items / run;
  const folded = (j: number): string =>
    Array.from({ length: run - 1 }, (_, k) => k + 1).reduce((sum, k) => `combine(${sum}, s${j}_${k})`, `s${j}_0`);
  // q is the prefix before a row, and x is the prefix before a lane's run in this row. Both prefixes start at the
  // beginning of the subgroup's part of the tile. If runs have one element, s becomes the inclusive prefix of this
  // element.
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
  const leaves = (j: number, k: number): string => types.map((_, leaf) => code!.leaf(j, k, leaf)).join(', ');
  const read = (j: number, element: (at: string) => string): string =>
    lines(run, (k) => `s${j}_${k} = ${element(at(run, j, k))};`);
  const write = (j: number, guard: string): string => consumeRow(j, run, after, guard, kept);
  const take = (j: number, k: number): string => `s${j}_${k} = S(${leaves(j, k)});`;
  return {
    declare: eachElement(rows, run, (j, k) => `var s${j}_${k}: S;`),
    read: (element) => lines(rows, (j) => read(j, element)),
    scan: `${lines(rows, (j) => `let l${j} = lanes_up_to(${folded(j)}, lane, sg);`)}
${lines(rows, place)}
let part = combine(q${rows - 1}, l${rows - 1});`,
    write: (guard) => lines(rows, (j) => write(j, guard)),
    inside: code && insideRows(rows, run, code, { take, after, read, write }),
  };
}

/** WGSL of the index of element k of a thread's run in row j. */
export function at(run: number, j: number, k: number): string {
  return `first + ${j * run}u * sg + ${k}u`;
}

export function eachElement(rows: number, run: number, line: (j: number, k: number) => string): string {
  return lines(rows, (j) => lines(run, (k) => line(j, k)));
}

/**
 * WGSL statements that store the results of a thread's elements in row j. `after` is WGSL that appends an element to
 * the state `before`. In a run (adjacent elements of the thread), all calls of the emit program precede all stores, so
 * that the loads of these calls overlap.
 */
export function consumeRow(
  j: number,
  run: number,
  after: (j: number, k: number) => string,
  guard: string,
  kept: KeptRows,
): string {
  if (kept === 'none') return '';
  const evaluate = (k: number): string => `var r${k}: Emitted;
{ let i = ${at(run, j, k)}; let after = ${after(j, k)}; ${guard}{ r${k} = emitted(i, before, after); } before = after; }`;
  const store = (k: number): string => `{ let i = ${at(run, j, k)}; ${guard}{ keep(i, r${k}); } }`;
  return `{ var before = combine(outer, x${j});
${lines(run, evaluate)}
${lines(run, store)} }`;
}

/**
 * WGSL for the elements and rows of {@link insideRows}. `j` is the number of the row, and `k` the number of the element
 * in its run.
 */
export interface RowElements {
  readonly read: (j: number, element: (at: string) => string) => string;
  readonly write: (j: number, guard: string) => string;
  /** Statement that sets the thread's variable for an element to the value that the unrolled code computed. */
  readonly take: (j: number, k: number) => string;
  /** WGSL of the state after the element, given the state `before`. */
  readonly after: (j: number, k: number) => string;
  /** WGSL condition that is true if the element starts a segment. Only for segmented scans. */
  readonly head?: (j: number, k: number) => string;
}

/**
 * WGSL statements that read and write rows with unrolled programs. The first row of the scan and the rows at the end
 * use code that is not unrolled. The code that is not unrolled should be short. Only the first and the last workgroup
 * execute it, and all others wait for the first workgroup while the instructions of this code are fetched.
 */
export function insideRows(
  rows: number,
  run: number,
  code: RunCode,
  { read, write, take, after, head }: RowElements,
): NonNullable<ScanRows['inside']> {
  const choose = (j: number, fast: string, careful: string): string =>
    `let row${j} = base + ${j * run}u * sg;
if (row${j} > 0u && n - min(row${j}, n) > ${run}u * sg) {\n${fast}\n} else {\n${careful}\n}`;
  const states = Array.from({ length: run + 1 }, (_, k) => `b${k}`);
  const state = (j: number, k: number): string => `before = ${after(j, k)}; let b${k + 1} = before;`;
  return {
    read: lines(rows, (j) =>
      choose(
        j,
        `let i${j} = ${at(run, j, 0)};\n${code.read(j, `i${j}`)}\n${lines(run, (k) => take(j, k))}`,
        read(j, (index) => `element(${index}, n)`),
      ),
    ),
    write: lines(
      rows,
      (j) =>
        `{ ${choose(
          j,
          `let i${j} = ${at(run, j, 0)}; var before = combine(outer, x${j}); let b0 = before;
${lines(run, (k) => state(j, k))}
${code.write(j, `i${j}`, states, (k) => head!(j, k))}`,
          write(j, 'if (i < n) '),
        )} }`,
    ),
  };
}

/** Number of rows of flags that are evaluated before the first flag is stored, so that the loads overlap. */
const TOGETHER = 8;

/**
 * The rows of a scan that counts flags. Ballots find the lanes with a flag, and bit counts of the ballots count the
 * flags. For every row, a thread therefore holds only the set of lanes with a flag.
 */
export function flagRows(items: number, max: number, kept: KeptRows): ScanRows {
  const { ballot } = laneSets(max);
  const at = (j: number): string => `first + ${j}u * sg`;
  return {
    declare: lines(items, (j) => `var f${j}: bool;`),
    read: (element) => lines(items, (j) => `f${j} = ${element(at(j))}.a0 != 0u;`),
    scan: `${lines(items, (j) => `let m${j} = ${ballot(`f${j}`)};`)}
let q0 = 0u;
${lines(items, (j) => `let q${j + 1} = q${j} + ones(m${j});`)}
let part = S(q${items});`,
    write: (guard) => {
      if (kept === 'none') return '';
      const batches = Array.from({ length: Math.ceil(items / TOGETHER) }, (_, b) =>
        Array.from({ length: Math.min(TOGETHER, items - b * TOGETHER) }, (_, k) => b * TOGETHER + k),
      );
      const store = kept === 'flagged' ? storeFlagged : storeAll;
      return `let below = lanes_below(lane);\n${batches.map((rows) => `{\n${store(rows, at, guard)}\n}`).join('\n')}`;
    },
  };
}

const countBefore = (j: number): string => `outer.a0 + q${j} + ones(m${j} & below)`;

/**
 * WGSL that evaluates and stores the elements whose flag is set. Past the end no flag is set, so the index need not be
 * checked.
 */
function storeFlagged(rows: readonly number[], at: (j: number) => string): string {
  const evaluate = (j: number): string => `var r${j}: Emitted;
if (has_lane(m${j}, lane) != 0u) { let before = ${countBefore(j)}; r${j} = emitted(${at(j)}, S(before), S(before + 1u)); }`;
  const store = (j: number): string => `if (has_lane(m${j}, lane) != 0u) { keep(${at(j)}, r${j}); }`;
  return [...rows.map(evaluate), ...rows.map(store)].join('\n');
}

/** WGSL that evaluates and stores all elements, each behind the condition `guard`. */
function storeAll(rows: readonly number[], at: (j: number) => string, guard: string): string {
  const evaluate = (j: number): string => `var r${j}: Emitted;
{ let i = ${at(j)}; let before = ${countBefore(j)}; ${guard}{ r${j} = emitted(i, S(before), S(before + has_lane(m${j}, lane))); } }`;
  const store = (j: number): string => `{ let i = ${at(j)}; ${guard}{ keep(i, r${j}); } }`;
  return [...rows.map(evaluate), ...rows.map(store)].join('\n');
}
