import type { ScalarType } from '../../../primitives/functors/ir.ts';
import { lines } from './lines.ts';
import type { RunCode } from './run-code.ts';
import type { KeptRows } from './scan-sink.ts';
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
  /** The same run by run, where the tile has others before it and behind it. */
  readonly inside?: { readonly read: string; readonly write: string } | undefined;
}

/** Scans states: every lane folds its run, lanes pass on what they have, and rows follow each other. */
export function stateRows(items: number, run: number, types: readonly ScalarType[], code?: RunCode): ScanRows {
  const rows = items / run;
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
  const leaves = (j: number, k: number): string => types.map((_, leaf) => code!.leaf(j, k, leaf)).join(', ');
  return {
    declare: `${eachElement(rows, run, (j, k) => `var s${j}_${k}: S;`)}`,
    read: (element) => eachElement(rows, run, (j, k) => `s${j}_${k} = ${element(at(run, j, k))};`),
    scan: `${lines(rows, (j) => `let l${j} = lanes_up_to(${folded(j)}, lane, sg);`)}
${lines(rows, place)}
let part = combine(q${rows - 1}, l${rows - 1});`,
    write: (guard) => consumeRows(rows, run, after, guard),
    inside: code && insideRows(rows, run, code, { take: (j, k) => `s${j}_${k} = S(${leaves(j, k)});`, after }),
  };
}

/** Element k of a thread's run in row j. */
export function at(run: number, j: number, k: number): string {
  return `first + ${j * run}u * sg + ${k}u`;
}

export function eachElement(rows: number, run: number, line: (j: number, k: number) => string): string {
  return lines(rows, (j) => lines(run, (k) => line(j, k)));
}

/** Statements that consume every element, given what comes after `before` with it. */
export function consumeRows(rows: number, run: number, after: (j: number, k: number) => string, guard: string): string {
  const element = (j: number, k: number): string =>
    `{ let i = ${at(run, j, k)}; let after = ${after(j, k)}; ${guard}{ consume(i, before, after); } before = after; }`;
  return lines(rows, (j) => `{ var before = combine(outer, x${j});\n${lines(run, (k) => element(j, k))} }`);
}

/** How rows do with element k of row j. */
export interface RowElements {
  /** The statement that takes over what was read. */
  readonly take: (j: number, k: number) => string;
  /** What comes after `before` with it. */
  readonly after: (j: number, k: number) => string;
  /** Whether it is a head, where rows know. */
  readonly head?: (j: number, k: number) => string;
}

/** Statements that read and write run by run. */
export function insideRows(
  rows: number,
  run: number,
  code: RunCode,
  { take, after, head }: RowElements,
): NonNullable<ScanRows['inside']> {
  const states = Array.from({ length: run + 1 }, (_, k) => `b${k}`);
  const state = (j: number, k: number): string => `before = ${after(j, k)}; let b${k + 1} = before;`;
  return {
    read: lines(
      rows,
      (j) => `let i${j} = ${at(run, j, 0)};\n${code.read(j, `i${j}`)}\n${lines(run, (k) => take(j, k))}`,
    ),
    write: lines(
      rows,
      (j) => `{ let i${j} = ${at(run, j, 0)}; var before = combine(outer, x${j}); let b0 = before;
${lines(run, (k) => state(j, k))}
${code.write(j, `i${j}`, states, (k) => head!(j, k))} }`,
    ),
  };
}

/** Rows of flags that are evaluated before the first of them is stored, so that what they read is under way together. */
const TOGETHER = 8;

/** Scans flags, whose sum over lanes is a count of bits: all that a thread holds is which lanes have one. */
export function flagRows(items: number, most: number, kept: KeptRows): ScanRows {
  const { ballot } = laneSets(most);
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

/** Evaluates and stores rows where they have the flag: past the end there is none. */
function storeFlagged(rows: readonly number[], at: (j: number) => string): string {
  const evaluate = (j: number): string => `var r${j}: Emitted;
if (has_lane(m${j}, lane) != 0u) { let before = ${countBefore(j)}; r${j} = emitted(${at(j)}, S(before), S(before + 1u)); }`;
  const store = (j: number): string => `if (has_lane(m${j}, lane) != 0u) { keep(${at(j)}, r${j}); }`;
  return [...rows.map(evaluate), ...rows.map(store)].join('\n');
}

/** Evaluates and stores all rows behind a guard. */
function storeAll(rows: readonly number[], at: (j: number) => string, guard: string): string {
  const index = guard === '' ? 'i' : 'min(i, n - 1u)';
  const evaluate = (j: number): string => `var r${j}: Emitted;
{ let i = ${at(j)}; let before = ${countBefore(j)}; r${j} = emitted(${index}, S(before), S(before + has_lane(m${j}, lane))); }`;
  const store = (j: number): string => `{ let i = ${at(j)}; ${guard}{ keep(i, r${j}); } }`;
  return [...rows.map(evaluate), ...rows.map(store)].join('\n');
}
