import type { ProgressReport } from '../graph/index.ts';
import type { LogStream, ProgressFigures, ProgressUnit } from './log.ts';

/** A progress bar, which is redrawn in the current line of a terminal. */
export interface ProgressBar {
  draw(report: ProgressReport, unit: ProgressUnit, figures?: ProgressFigures): void;
  /** Clears the line and moves the cursor to its start. */
  clear(): void;
}

/** Clears the line of a terminal, and moves the cursor to its start. */
export const ERASE_LINE = '\r\u001b[K';

/**
 * Creates a progress bar on a terminal. The cursor is never hidden, so the terminal stays usable if the process is
 * killed.
 */
export function progressBar(stream: LogStream): ProgressBar {
  let drawn = false;
  return {
    draw(report, unit, figures) {
      stream.write(ERASE_LINE + renderProgress(report, unit, stream.columns ?? 80, figures));
      drawn = true;
    },
    clear() {
      if (drawn) stream.write(ERASE_LINE);
      drawn = false;
    },
  };
}

const WIDEST_BAR = 40;
const NARROWEST_BAR = 6;

/**
 * The text of a progress bar, with fewer than `columns` characters. It consists of the bar, the percentage, the rate,
 * additional counts and the remaining time. Before the first unit (such as a tile) is done, the elapsed time replaces
 * the rate. If the total is a single unit, there is no bar, because the progress within a unit is unknown.
 */
export function renderProgress(
  { done, total, rate, eta, elapsed }: ProgressReport,
  unit: ProgressUnit,
  columns: number,
  figures: ProgressFigures = {},
): string {
  const share = total === undefined || total === 0 || (total === 1 && done < 1) ? undefined : Math.min(1, done / total);
  const told = [
    ...(share === undefined ? [] : [`${Math.floor(share * 100)} %`.padStart(5)]),
    done === 0 ? duration(elapsed) : `${siPrefixed(rate)}${unit}/s`,
    ...Object.entries(figures).map(([name, count]) => `${siPrefixed(count).trim()} ${name}`),
    ...(eta === undefined ? [] : [`${duration(eta)} left`]),
  ].join('  ');
  const room = Math.min(WIDEST_BAR, columns - told.length - 2);
  if (share === undefined || room < NARROWEST_BAR) return told.slice(0, Math.max(0, columns - 1));
  const filled = Math.round(share * room);
  return `${'━'.repeat(filled)}${'─'.repeat(room - filled)} ${told}`;
}

const PREFIXES = ['', 'k', 'M', 'G', 'T'];

function siPrefixed(value: number): string {
  let scaled = value;
  let prefix = 0;
  while (scaled >= 999.5 && prefix < PREFIXES.length - 1) {
    scaled /= 1000;
    prefix++;
  }
  return `${scaled < 10 && prefix > 0 ? scaled.toFixed(1) : Math.round(scaled)} ${PREFIXES[prefix]}`;
}

/** A duration as minutes and seconds, or as hours, minutes and seconds. */
export function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const [first, ...rest] = parts[0] === 0 ? parts.slice(1) : parts;
  return [String(first), ...rest.map((part) => String(part).padStart(2, '0'))].join(':');
}
