import {
  AsyncSubject,
  asyncScheduler,
  concat,
  defer,
  finalize,
  type MonoTypeOperatorFunction,
  map,
  type Observable,
  of,
  pipe,
  type SchedulerLike,
  Subject,
  startWith,
  takeUntil,
  tap,
  throttleTime,
} from 'rxjs';
import { requireOptions } from '../../primitives/checks/arguments.ts';
import { anything, atLeast } from '../../primitives/checks/kinds.ts';

/** The progress of a run at one moment. */
export interface ProgressReport {
  /** Number of units done. A unit is one item, unless the run counts other units. */
  readonly done: number;
  /** Total number of units, if known. */
  readonly total: number | undefined;
  /** Average number of units per second since the start; 0 while no time has passed. */
  readonly rate: number;
  /**
   * Estimated seconds until the end, if `rate` stays the same. Undefined while the total is unknown or nothing is done.
   */
  readonly eta: number | undefined;
  /** Seconds since the start. */
  readonly elapsed: number;
}

export interface ProgressOptions {
  /** Total number of units, if known at the start. */
  readonly total?: number | undefined;
  /** Minimum time between two reports, in milliseconds. Default 100. */
  readonly every?: number | undefined;
  /** Clock and timer for the reports. Tests can give a `TestScheduler`. */
  readonly scheduler?: SchedulerLike | undefined;
}

export interface Progress {
  /**
   * Emits the first report at once, then at most one report per `every` milliseconds and only after a change, and a
   * last report at the end.
   */
  readonly progress$: Observable<ProgressReport>;
  /** Adds `units` to the number of units done. Default 1. */
  advance(units?: number): void;
  /** Sets the total number of units, when it becomes known. */
  expect(total: number): void;
  /** Must be called when the run has ended, successfully or not. Stops the clock and completes `progress$`. */
  end(): void;
  /**
   * An operator that advances by `units(item)`, or by 1, for each item of a stream. When the stream ends, it calls
   * `end`.
   */
  track<T>(units?: (item: T) => number): MonoTypeOperatorFunction<T>;
}

/**
 * Counts the progress of a run, and reports it with rate and remaining time. The clock starts when this function is
 * called.
 *
 * @example
 * const { progress$, track } = progress({ total: 3 });
 * const last = lastValueFrom(progress$);
 * await lastValueFrom(from([1, 2, 3]).pipe(track()));
 * (await last).done; // 3
 */
export function progress(options: ProgressOptions = {}): Progress {
  requireOptions<ProgressOptions>('progress', { total: atLeast(0), every: atLeast(0), scheduler: anything }, options);
  const { every = 100, scheduler = asyncScheduler } = options;
  const started = scheduler.now();
  const changes = new Subject<void>();
  const ended = new AsyncSubject<number>();
  let { total } = options;
  let done = 0;
  let stopped: number | undefined;

  const report = (): ProgressReport => {
    const elapsed = ((stopped ?? scheduler.now()) - started) / 1000;
    const rate = elapsed > 0 ? done / elapsed : 0;
    const eta = total === undefined || rate === 0 ? undefined : Math.max(0, total - done) / rate;
    return { done, total, rate, eta, elapsed };
  };
  const advance = (units = 1): void => {
    done += units;
    changes.next();
  };
  const expect = (units: number): void => {
    total = units;
    changes.next();
  };
  const end = (): void => {
    stopped ??= scheduler.now();
    ended.next(stopped);
    ended.complete();
  };
  const whileRunning = changes.pipe(
    startWith(undefined),
    throttleTime(every, scheduler, { leading: true, trailing: true }),
    map(report),
    takeUntil(ended),
  );
  return {
    progress$: concat(
      whileRunning,
      defer(() => of(report())),
    ),
    advance,
    expect,
    end,
    track: (units = () => 1) =>
      pipe(
        tap((item) => advance(units(item))),
        finalize(end),
      ),
  };
}
