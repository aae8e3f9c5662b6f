import type { GraphRun } from '../graph/index.ts';
import type { ReportSection } from '../graph/reports/report-page.ts';
import type { TracedRun, TraceRecorder } from '../graph/reports/trace.ts';

// Traces and reports of runs. Their code is imported only when an output needs it.

/** Records a run for the outputs with the given paths. Undefined if there are none. */
export async function recorderFor(paths: readonly (string | undefined)[]): Promise<TraceRecorder | undefined> {
  if (paths.every((path) => path === undefined)) return undefined;
  return (await import('../graph/reports/trace.ts')).recordTrace();
}

/** The trace of a recorded run. */
export async function traced(recorder: TraceRecorder, running: TracedRun): Promise<string> {
  const { chromeTrace } = await import('../graph/reports/chrome-trace.ts');
  return chromeTrace(recorder.trace(running));
}

/** The report on a recorded run, which begins with the given sections. */
export async function reported(
  recorder: TraceRecorder,
  running: TracedRun & Pick<GraphRun<unknown>, 'edges'>,
  title: string,
  sections: readonly ReportSection[],
): Promise<string> {
  const { runReport } = await import('../graph/reports/run-report.ts');
  return runReport(recorder.trace(running), {
    ...{ title, sections, edges: running.edges(), dropped: recorder.dropped() },
  });
}
