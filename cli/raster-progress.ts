import { progress } from '../graph/index.ts';
import type { Log, ProgressUnit } from './log.ts';

/** Shows how much of a whole is done. */
export interface ShownProgress {
  /** Says how much is done, and how much there is. */
  report(done: number, total: number): void;
  end(): void;
}

/** Shows progress in a log, from the first report on. */
export function showProgress(log: Log, unit: ProgressUnit): ShownProgress {
  const meter = progress({ every: log.progressEvery });
  const shown = meter.progress$.subscribe((report) => {
    if (report.total !== undefined) log.progress(report, unit);
  });
  let before = 0;
  return {
    report(done, total) {
      if (before === 0) meter.expect(total);
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
