import type { Log, LogStream } from './log.ts';
import { duration, ERASE_LINE } from './progress-bar.ts';

/** A log that shows on a terminal that its command works, while nothing else does. */
export interface LivelyLog {
  readonly log: Log;
  begin(): void;
  end(): void;
}

/** Milliseconds without a word after which the sign appears, and between its changes. */
const SILENCE = 100;

/**
 * Makes a log say how long the command has worked, whenever nothing has been said for a moment and no progress is shown:
 * while the command starts, reads zones, or writes its outputs.
 */
export function withSignOfLife(log: Log, stream: LogStream): LivelyLog {
  const started = performance.now();
  let timer: ReturnType<typeof setInterval> | undefined;
  let [isShown, hasBar] = [false, false];
  const clear = (): void => {
    if (isShown) stream.write(ERASE_LINE);
    isShown = false;
  };
  const show = (): void => {
    if (hasBar) return;
    stream.write(`${ERASE_LINE}working  ${duration((performance.now() - started) / 1000)}`);
    isShown = true;
  };
  const said =
    <A extends unknown[]>(say: (...words: A) => void, isBar = false) =>
    (...words: A): void => {
      clear();
      hasBar = isBar;
      // The next sign comes after a moment of silence.
      timer?.refresh();
      say(...words);
    };
  return {
    log: {
      progressEvery: log.progressEvery,
      note: said(log.note),
      news: said(log.news),
      progress: said(log.progress, true),
      clearProgress: said(log.clearProgress),
      summary: said(log.summary),
      error: said(log.error),
    },
    begin() {
      timer ??= setInterval(show, SILENCE);
      timer.unref();
    },
    end() {
      clearInterval(timer);
      clear();
    },
  };
}
