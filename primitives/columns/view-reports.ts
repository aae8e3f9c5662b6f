import { capacityOf } from '../contract/backend.ts';
import type { ErrorPlace } from '../errors.ts';
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

/** How the library treated a view that a command read. */
export interface ViewReport {
  /** The primitive that made the view, or a step of one. */
  readonly kind: string;
  /** The name of its functor; if it has none, its kind. */
  readonly name: string;
  /** The line of the caller's code that made it; unknown if it was made before the call of `explain`. */
  readonly place: ErrorPlace | undefined;
  /** The types of the results that were read or stored. */
  readonly types: readonly ScalarType[];
  /** The number of its rows; if only the device knows it, the capacity. */
  readonly rows: number;
  /** Bytes needed to store it. */
  readonly bytes: number;
  /** Estimated number of its elements that the command reads. */
  readonly reads: number;
  /** Estimated operations for evaluating it at every read. */
  readonly evaluating: number;
  /** Estimated operations for storing it and reading the stored elements. */
  readonly storing: number;
  /**
   * `stored`: it was stored for this command. `reused`: it was stored for an earlier command. `evaluated`: it is
   * evaluated where the command reads it.
   */
  readonly outcome: 'stored' | 'reused' | 'evaluated';
  /** The reason, in one sentence. */
  readonly reason: string;
  /** The command, and the line of the caller's code that issued it. */
  readonly command: { readonly name: string; readonly place: ErrorPlace | undefined };
}

/** Receives reports of the views that commands read. */
export type OnViewReport = (report: ViewReport) => void;

type Command = ViewReport['command'];

/**
 * Reports of all views that a command reads, from its plan; the last view of the plan is the command itself.
 * `missingOf` returns the results of a view that are stored for this command; without it, none are.
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

/** Reports of the views that were stored before this plan. */
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

/** A number formatted for text. */
export function show(count: number): string {
  return Math.round(count).toLocaleString('en');
}
