import { requireFunction, wrongArgument } from '../checks/arguments.ts';
import type { ErrorPlace } from '../checks/errors.ts';
import { isPromise } from '../checks/given.ts';
import { watchPlaces } from '../columns/view-places.ts';
import { show, type ViewReport } from '../columns/view-reports.ts';
import { Context } from './context.ts';

/** How the library treated a view. Identical reports are combined. */
export interface ExplainedView extends ViewReport {
  /** Number of identical reports that are combined here. */
  readonly times: number;
}

/** The result of a pipeline, and reports of how the library treated its views. */
export interface Explanation<R> {
  readonly result: R;
  /** Reports in the order of the commands. If commands read a view in different ways, each way has its own report. */
  readonly views: readonly ExplainedView[];
  /**
   * The reports as text. There is one line for each report of a view that was stored, or that was evaluated more than
   * once for each of its rows. A last line counts the other reports.
   */
  readonly text: string;
}

/**
 * Runs a pipeline and reports how the library treated the views that its commands read: which views it stored, which
 * views it evaluated again at every read, and why. For every view, the report contains the source line that made the view,
 * its kind, rows and bytes, and the estimated costs of evaluating the view at every read and of storing it. Results and
 * launches are the same as without `explain`. To find out whether workers run a functor on four rows at a time, use
 * `explainVectorization` of `quadrille/backends/workers`.
 *
 * - Explains all commands of the context until the pipeline returns, or until its promise settles. This includes
 *   commands that other tasks issue on the context meanwhile.
 * - A view made before the call of `explain` has no source line in its report. Finding the source line of a view takes
 *   tens of microseconds, so the library does so only while `explain` runs.
 * - Errors of the pipeline are rethrown unchanged.
 * - Costs are estimates, in operations. A read of memory counts as 4 operations. Every loop is assumed to run for 4
 *   rounds, and both sides of a branch are counted.
 *
 * @throws {@link ArgumentError} if `context` is not a context or `pipeline` is not a function.
 * @example
 * const sum = fn('sum', { x: neighbours(u32) }, u32, ({ x }) => x.at(-2).add(x.at(-1)).add(x.at(1)).add(x.at(2)));
 * const { views } = explain(ctx, () => {
 *   const once = stencil(sum, { x: ctx.column(Uint32Array.of(1, 2, 3, 4)) });
 *   return reduce(stencil(sum, { x: stencil(sum, { x: once }) }), plus(u32));
 * });
 * views.map(({ kind, outcome }) => `${kind} ${outcome}`); // ['stencil evaluated', 'stencil stored', 'stencil evaluated']
 */
export function explain<R>(context: Context, pipeline: () => Promise<R>): Promise<Explanation<R>>;
export function explain<R>(context: Context, pipeline: () => R): Explanation<R>;
export function explain<R>(context: Context, pipeline: () => R | Promise<R>): Explanation<R> | Promise<Explanation<R>> {
  if (!(context instanceof Context)) {
    throw wrongArgument('explain', 'context', context, 'a context, as open() returns it');
  }
  requireFunction('explain', 'pipeline', pipeline);
  const { stop, views } = listenTo(context);
  let result: R | Promise<R>;
  try {
    result = pipeline();
  } catch (error) {
    stop();
    throw error;
  }
  if (isPromise(result)) return explainLater(result, views, stop);
  stop();
  return explanationOf(result, views());
}

async function explainLater<R>(
  promise: PromiseLike<R>,
  views: () => ExplainedView[],
  stop: () => void,
): Promise<Explanation<R>> {
  try {
    return explanationOf(await promise, views());
  } finally {
    stop();
  }
}

/** Collects the reports of a context's commands until `stop` is called. Counts equal reports in `times`. */
function listenTo({ automatic }: Context): { readonly stop: () => void; readonly views: () => ExplainedView[] } {
  const reports = new Map<string, { readonly report: ViewReport; times: number }>();
  const note = (report: ViewReport): void => {
    const key = JSON.stringify(report);
    const known = reports.get(key) ?? { report, times: 0 };
    known.times++;
    reports.set(key, known);
  };
  const stopPlaces = watchPlaces();
  automatic.explainers.add(note);
  return {
    stop: () => {
      automatic.explainers.delete(note);
      stopPlaces();
    },
    views: () => [...reports.values()].map(({ report, times }) => ({ ...report, times })),
  };
}

function explanationOf<R>(result: R, views: readonly ExplainedView[]): Explanation<R> {
  return { result, views, text: textOf(views) };
}

function textOf(views: readonly ExplainedView[]): string {
  const told = views.filter(({ outcome, reads, rows }) => outcome !== 'evaluated' || reads > rows);
  const others = views.length - told.length;
  const lines = told.map(lineOf);
  if (others > 0) lines.push(`Other views, evaluated at most once a row where they are read: ${show(others)}.`);
  return lines.join('\n');
}

const DONE = {
  stored: 'was stored before',
  reused: 'was already stored when read by',
  evaluated: 'is evaluated by',
} as const;

function lineOf(view: ExplainedView): string {
  const { kind, name, place, types, rows, bytes, reads, evaluating, storing, outcome, reason, command, times } = view;
  const what = name === kind ? kind : `${kind} ${name}`;
  const size = `${show(rows)} rows of ${types.join(', ')}, ${show(bytes)} bytes`;
  const repeated = times === 1 ? '' : ` ${show(times)} times`;
  const by = `${command.name}${command.place === undefined ? '' : ` at ${placeText(command.place)}`}${repeated}`;
  const costs = `Evaluating it at ${show(reads)} reads takes ${show(evaluating)} operations, storing it ${show(storing)}.`;
  return `${placeText(place)}: ${what} (${size}) ${DONE[outcome]} ${by}. ${reason} ${costs}`;
}

function placeText(place: ErrorPlace | undefined): string {
  return place === undefined ? 'Made before' : `${place.file}:${place.line}`;
}
