import type { WorkerNews } from '../queues/index.ts';
import { counted, grouped } from './grouped.ts';
import type { Log } from './log.ts';
import { type ShownProgress, showProgress } from './shown-progress.ts';

/** Numbers of jobs that were done, that failed and that were taken back. */
interface JobCounts {
  done: number;
  failed: number;
  lost: number;
}

/** Counts what a worker did, and shows it. */
export interface WorkerTally {
  readonly sums: Readonly<JobCounts>;
  /** Number of runs of which the worker had jobs. */
  readonly runs: number;
  take(news: WorkerNews): void;
  /** Ends the display. */
  end(): void;
}

/** A run has no jobs for this worker, for the time being, if none came for this many milliseconds. */
const QUIET = 5000;

/** The jobs of a run that a worker does without a longer pause. */
interface Stretch extends JobCounts {
  readonly run: string;
  readonly started: number;
  inProgress: number;
  last: number;
}

/**
 * Counts the jobs of a worker. While it has jobs, their rate is shown as progress. A run has a line when its first job
 * begins, and another when it has had no more jobs for five seconds.
 */
export function workerTally(log: Log): WorkerTally {
  const sums: JobCounts = { done: 0, failed: 0, lost: 0 };
  const stretches = new Map<string, Stretch>();
  const runs = new Set<string>();
  let shown: ShownProgress | undefined;
  let timer: NodeJS.Timeout | undefined;

  const begin = (run: string): Stretch => {
    const now = performance.now();
    const stretch: Stretch = { run, started: now, done: 0, failed: 0, lost: 0, inProgress: 0, last: now };
    stretches.set(run, stretch);
    runs.add(run);
    log.news({ line: `Run ${run}: its first job has begun here.`, fields: { kind: 'run began', run } });
    shown ??= showProgress(log, 'jobs');
    timer ??= setInterval(endQuiet, QUIET / 5).unref();
    return stretch;
  };

  const end = (stretch: Stretch): void => {
    const { run, started, done, failed, lost, last } = stretch;
    stretches.delete(run);
    const seconds = Number(((last - started) / 1000).toFixed(1));
    log.clearProgress();
    log.news({
      line: `Run ${run}: ${jobsDone(stretch)}, in ${seconds} s.`,
      fields: { kind: 'run ended', run, done, failed, lost, seconds },
    });
  };

  const stopShowing = (): void => {
    clearInterval(timer);
    timer = undefined;
    shown?.end();
    shown = undefined;
  };

  const endQuiet = (): void => {
    const now = performance.now();
    for (const stretch of [...stretches.values()]) {
      if (stretch.inProgress === 0 && now - stretch.last > QUIET) end(stretch);
    }
    if (stretches.size === 0) stopShowing();
  };

  return {
    sums,
    get runs() {
      return runs.size;
    },
    take(news) {
      if (!('run' in news)) return;
      const stretch = stretches.get(news.run) ?? begin(news.run);
      stretch.last = performance.now();
      if (news.kind === 'began') {
        stretch.inProgress++;
        return;
      }
      stretch.inProgress--;
      const kind = news.kind === 'ended' ? 'done' : news.kind;
      stretch[kind]++;
      sums[kind]++;
      if (kind === 'done') shown?.advance();
    },
    end() {
      for (const stretch of [...stretches.values()]) end(stretch);
      stopShowing();
    },
  };
}

/** Says how many jobs were done, and what became of others. */
export function jobsDone({ done, failed, lost }: JobCounts): string {
  return [
    `${counted(done, 'job')} done here`,
    ...(failed === 0 ? [] : [`${grouped(failed)} failed`]),
    ...(lost === 0 ? [] : [`${grouped(lost)} taken back`]),
  ].join(', ');
}
