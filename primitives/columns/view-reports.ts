import type { ErrorPlace } from '../checks/errors.ts';
import { capacityOf } from '../contract/backend.ts';
import { entryOf, type ScalarType } from '../ir/ir.ts';
import type { View } from './column.ts';
import { READ, stepCost } from './step-cost.ts';
import {
  type Cut,
  type IsStored,
  isCut,
  isShort,
  MAX_STATEMENTS,
  MIN_SAVING,
  type PlannedView,
  STORE,
} from './storing-plan.ts';

/** How the library treated a view that a command read: stored or evaluated, and why. */
export interface ViewReport {
  /** Name of the primitive that made the view, or of one of that primitive's steps. */
  readonly kind: string;
  /** Name of the view's functor; the view's `kind` if the functor has no name. */
  readonly name: string;
  /** The line of the caller's code that made the view; undefined if the view was made before `explain` was called. */
  readonly place: ErrorPlace | undefined;
  /** The types of the view's results that were read or stored. */
  readonly types: readonly ScalarType[];
  /** The number of rows of the view. If only the device knows it, the capacity. */
  readonly rows: number;
  /** Bytes needed to store the view. */
  readonly bytes: number;
  /** Estimated number of the view's elements that the command reads; an element read twice counts twice. */
  readonly reads: number;
  /** Estimated number of operations if the view is evaluated at every read. */
  readonly evaluating: number;
  /** Estimated number of operations if the view is stored once and then read from memory. */
  readonly storing: number;
  /**
   * `stored`: the view was stored for this command. `reused`: it was stored for an earlier command. `evaluated`: it is
   * evaluated wherever the command reads it.
   */
  readonly outcome: 'stored' | 'reused' | 'evaluated';
  /** Why the view was treated this way, in one sentence. */
  readonly reason: string;
  /** Name of the command that read the view, and the line of the caller's code that issued the command. */
  readonly command: { readonly name: string; readonly place: ErrorPlace | undefined };
}

/** A callback that receives a report of every view that a command reads. */
export type OnViewReport = (report: ViewReport) => void;

type Command = ViewReport['command'];

/**
 * Reports of all views that a command reads. The last entry of the plan `planned` is the command itself. `missingOf`
 * returns the results of a view that are to be stored for this command; without it, no view is stored.
 */
export function reportsOf(
  planned: readonly PlannedView[],
  isStored: IsStored,
  missingOf?: (cut: Cut) => number[],
): ViewReport[] {
  const { kind: name, place } = planned.at(-1)!.view;
  const command = { name, place };
  const reports = planned
    .slice(0, -1)
    .map((each) =>
      missingOf !== undefined && isCut(each)
        ? storedReport(each, missingOf(each), command)
        : evaluatedReport(each, command),
    );
  return [...reusedReports(planned, isStored, command), ...reports];
}

function storedReport(cut: Cut, missing: readonly number[], command: Command): ViewReport {
  const reason =
    cut.cut === 'evaluations'
      ? `Storing it saves ${show(cut.saving)} operations a row.`
      : `Without storing it, the code of its reader would have more than ${show(MAX_STATEMENTS)} statements.`;
  return { ...whatItIs(cut, missing), ...costsOf(cut), outcome: 'stored', reason, command };
}

function evaluatedReport(planned: PlannedView, command: Command): ViewReport {
  const what = whatItIs(planned, [...planned.results]);
  return { ...what, ...costsOf(planned), outcome: 'evaluated', reason: whyEvaluated(planned), command };
}

function whyEvaluated(planned: PlannedView): string {
  const { reads, rows, saving, roomBytes } = planned;
  const saved = `Storing it saves ${show(saving)} operations a row`;
  if (reads <= rows) return 'It is evaluated at most once a row.';
  if (saving <= 0) return 'Storing it saves nothing.';
  if (saving >= MIN_SAVING && isShort(planned)) {
    return `${saved}, but takes more than half of the ${show(roomBytes)} bytes available.`;
  }
  return `${saved}, less than the minimum of ${MIN_SAVING}.`;
}

function whatItIs(
  { view, rows }: Pick<PlannedView, 'view' | 'rows'>,
  results: readonly number[],
): Pick<ViewReport, 'kind' | 'name' | 'place' | 'types' | 'rows' | 'bytes'> {
  const { name, results: types } = entryOf(view.module);
  const { kind, place } = view;
  const bytes = 4 * Math.max(1, rows) * results.length;
  return { kind, name, place, types: results.map((result) => types[result]!), rows, bytes };
}

function costsOf({ reads, rows, operations }: PlannedView): Pick<ViewReport, 'reads' | 'evaluating' | 'storing'> {
  return { reads, evaluating: reads * operations, storing: rows * (operations + STORE) + reads * READ };
}

/** Reports of the views that the command reads and that earlier commands stored. */
function reusedReports(planned: readonly PlannedView[], isStored: IsStored, command: Command): ViewReport[] {
  const reused = new Map<View, { readonly rows: number; readonly results: Set<number>; reads: number }>();
  for (const { view: reader, reads, rows } of planned) {
    for (const input of reader.inputs.filter(isStored)) {
      const { length, view } = input;
      const found = reused.get(view) ?? { rows: capacityOf(length), results: new Set(), reads: 0 };
      for (const result of input.results) found.results.add(result);
      found.reads += (stepCost(reader.module).calls.get(input.name)?.times ?? 0) * Math.min(reads, rows);
      reused.set(view, found);
    }
  }
  return [...reused].map(([view, { rows, results, reads }]) => ({
    ...whatItIs({ view, rows }, [...results]),
    reads,
    evaluating: reads * view.automatic!.operations,
    storing: reads * READ,
    outcome: 'reused',
    reason: 'It was already stored.',
    command,
  }));
}

/** Formats a rounded number with thousands separators, for reports. */
export function show(count: number): string {
  return Math.round(count).toLocaleString('en');
}
