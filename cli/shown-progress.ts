import { type Progress, progress } from '../graph/run/progress.ts';
import type { Log, ProgressFigures, ProgressUnit } from './log.ts';

/** Shows how much of a whole is done. */
export interface ShownProgress extends Pick<Progress, 'advance' | 'expect' | 'end'> {
  /** Says how much is done, and how much there is. */
  report(done: number, total: number): void;
}

interface ShownOptions {
  readonly total?: number;
  /** Whether nothing is shown before the total is known. Default false. */
  readonly waits?: boolean;
  /** Returns additional counts to show. */
  readonly figures?: () => ProgressFigures;
}

/** Shows progress in a log, until it is ended. */
export function showProgress(
  log: Log,
  unit: ProgressUnit,
  { total, waits = false, figures }: ShownOptions = {},
): ShownProgress {
  const meter = progress({ total, every: log.progressEvery });
  const shown = meter.progress$.subscribe((report) => {
    if (!waits || report.total !== undefined) log.progress(report, unit, figures?.());
  });
  let before = 0;
  return {
    expect: meter.expect,
    advance: meter.advance,
    report(done, all) {
      if (before === 0) meter.expect(all);
      meter.advance(done - before);
      before = done;
    },
    end() {
      meter.end();
      shown.unsubscribe();
      log.clearProgress();
    },
  };
}
