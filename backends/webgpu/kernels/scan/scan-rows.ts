import type { ScalarType } from '../../../../primitives/ir/ir.ts';
import { lines } from '../shared/lines.ts';
import { laneSets } from '../shared/subgroups.ts';
import type { RunCode } from './run-code.ts';
import type { KeptRows } from './scan-sink.ts';

/**
 * WGSL with which the threads of a subgroup scan its part of a tile: `items` elements a thread, in groups of `run`
 * adjacent ones, so that a row has `run` times the number of lanes. Statements can use `first`, the index of the
 * thread's first element, and `lane` and `sg`.
 */
export interface ScanRows {
  /** Statements that read elements, given WGSL of the element at an index. */
  read(element: (at: string) => string): string;
  readonly declare: string;
  /** Statements that scan the elements, and set `part` in the last lane to the total of the subgroup's part. */
  readonly scan: string;
  /** Statements that consume all elements behind a guard; `outer` is the prefix before the part. */
  write(guard: string): string;
  /** The same with unrolled programs, for all rows except the first and those at the end. */
  readonly inside?: { readonly read: string; readonly write: string } | undefined;
}

/** Scans states: every lane folds its run, lanes scan their totals, and rows follow one another. */
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
  // q is the prefix before a row in the part, x the prefix before a lane. A single element becomes its own inclusive
  // prefix.
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

/** The index of element k of a thread's run in row j. */
export function at(run: number, j: number, k: number): string {
  return `first + ${j * run}u * sg + ${k}u`;
}

export function eachElement(rows: number, run: number, line: (j: number, k: number) => string): string {
  return lines(rows, (j) => lines(run, (k) => line(j, k)));
}

/**
 * Statements that consume the elements of row j; `after` appends an element to `before`. All elements of a run are
 * evaluated before the first is stored, so that their loads overlap.
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

/** How rows handle element k of row j, and whole rows if the programs are not unrolled. */
export interface RowElements {
  readonly read: (j: number, element: (at: string) => string) => string;
  readonly write: (j: number, guard: string) => string;
  /** The statement that keeps the element that was read. */
  readonly take: (j: number, k: number) => string;
  /** WGSL of the state after the element, given `before`. */
  readonly after: (j: number, k: number) => string;
  /** WGSL of whether the element is a head, if rows know. */
  readonly head?: (j: number, k: number) => string;
}

/**
 * Statements that read and write run by run. The code without unrolling is used only for the first row and at the end:
 * code that only one workgroup executes is fetched while all that look back wait for it.
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

/** Rows of flags that are evaluated before the first is stored, so that their loads overlap. */
const TOGETHER = 8;

/** Scans flags. Their sum over lanes is a count of bits, so a thread only holds the sets of lanes with a flag. */
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

/** Evaluates and stores the rows whose flag is set; past the end no flag is. */
function storeFlagged(rows: readonly number[], at: (j: number) => string): string {
  const evaluate = (j: number): string => `var r${j}: Emitted;
if (has_lane(m${j}, lane) != 0u) { let before = ${countBefore(j)}; r${j} = emitted(${at(j)}, S(before), S(before + 1u)); }`;
  const store = (j: number): string => `if (has_lane(m${j}, lane) != 0u) { keep(${at(j)}, r${j}); }`;
  return [...rows.map(evaluate), ...rows.map(store)].join('\n');
}

/** Evaluates and stores all rows behind a guard. */
function storeAll(rows: readonly number[], at: (j: number) => string, guard: string): string {
  const evaluate = (j: number): string => `var r${j}: Emitted;
{ let i = ${at(j)}; let before = ${countBefore(j)}; ${guard}{ r${j} = emitted(i, S(before), S(before + has_lane(m${j}, lane))); } }`;
  const store = (j: number): string => `{ let i = ${at(j)}; ${guard}{ keep(i, r${j}); } }`;
  return [...rows.map(evaluate), ...rows.map(store)].join('\n');
}
