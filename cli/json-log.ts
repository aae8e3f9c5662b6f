import { escapeControls, withoutSecrets } from '../algorithms/quoted-names.ts';
import { failureFields } from './failure.ts';
import type { Log, LogStream } from './log.ts';

/**
 * Creates a log for programs: one JSON object per line, whose `event` is `note`, `news`, `progress`, `result` or `error`.
 * Fields with unknown values are omitted. Passwords in addresses are left out.
 */
export function jsonLog(stream: LogStream, { quiet }: { readonly quiet: boolean }): Log {
  const say = (event: string, fields: object): void => {
    // JSON escapes control characters of ASCII only.
    stream.write(`${escapeControls(withoutSecrets(JSON.stringify({ event, ...fields })))}\n`);
  };
  const unlessQuiet = quiet ? () => undefined : say;
  return {
    progressEvery: 1000,
    note: (note) => unlessQuiet('note', note),
    news: ({ fields }) => unlessQuiet('news', fields),
    progress: ({ done, total, rate, eta, elapsed }, unit, figures) => {
      // For instance doneCells, totalCells and cellsPerSecond.
      const units = `${unit[0]!.toUpperCase()}${unit.slice(1)}`;
      unlessQuiet('progress', {
        [`done${units}`]: done,
        [`total${units}`]: total,
        [`${unit}PerSecond`]: rate,
        eta,
        elapsed,
        ...figures,
      });
    },
    clearProgress: () => undefined,
    summary: ({ fields }) => unlessQuiet('result', fields),
    error: (error, exitCode) => say('error', { ...failureFields(error), exitCode }),
  };
}
