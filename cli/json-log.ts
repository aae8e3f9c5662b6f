import { escapeControls } from '../formats/escape-controls.ts';
import { failureFields } from './failure.ts';
import type { Log, LogStream } from './log.ts';

/**
 * Creates a log for programs: one JSON object per line, whose `event` is `note`, `news`, `progress`, `result` or `error`.
 * Fields with unknown values are omitted.
 */
export function jsonLog(stream: LogStream, { quiet }: { readonly quiet: boolean }): Log {
  const say = (event: string, fields: object): void => {
    // JSON escapes control characters of ASCII only.
    stream.write(`${escapeControls(JSON.stringify({ event, ...fields }))}\n`);
  };
  const unlessQuiet = quiet ? () => undefined : say;
  return {
    progressEvery: 1000,
    note: (note) => unlessQuiet('note', note),
    news: ({ fields }) => unlessQuiet('news', fields),
    progress: ({ done, total, rate, eta, elapsed }, unit, figures) => {
      const names = PROGRESS_FIELDS[unit];
      unlessQuiet('progress', {
        [names.done]: done,
        [names.total]: total,
        [names.rate]: rate,
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

const PROGRESS_FIELDS = {
  cells: { done: 'doneCells', total: 'totalCells', rate: 'cellsPerSecond' },
  tiles: { done: 'doneTiles', total: 'totalTiles', rate: 'tilesPerSecond' },
  frames: { done: 'doneFrames', total: 'totalFrames', rate: 'framesPerSecond' },
  queries: { done: 'doneQueries', total: 'totalQueries', rate: 'queriesPerSecond' },
  rows: { done: 'doneRows', total: 'totalRows', rate: 'rowsPerSecond' },
  rounds: { done: 'doneRounds', total: 'totalRounds', rate: 'roundsPerSecond' },
  jobs: { done: 'doneJobs', total: 'totalJobs', rate: 'jobsPerSecond' },
  bytes: { done: 'doneBytes', total: 'totalBytes', rate: 'bytesPerSecond' },
} as const;
