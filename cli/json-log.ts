import { failureFields } from './failure.ts';
import type { Log, LogStream } from './log.ts';

/**
 * A log for programs: one JSON object a line, told apart by `event`: `note`, `progress`, `result`, `error`. Fields that
 * are not known are left out.
 */
export function jsonLog(stream: LogStream, { quiet }: { readonly quiet: boolean }): Log {
  const say = (event: string, fields: object): void => {
    stream.write(`${JSON.stringify({ event, ...fields })}\n`);
  };
  const unlessQuiet = quiet ? () => undefined : say;
  return {
    progressEvery: 1000,
    note: (note) => unlessQuiet('note', note),
    progress: ({ done, total, rate, eta, elapsed }) =>
      unlessQuiet('progress', { doneCells: done, totalCells: total, cellsPerSecond: rate, eta, elapsed }),
    clearProgress: () => undefined,
    summary: (summary) => unlessQuiet('result', { ...summary, cells: exactInteger(summary.cells) }),
    error: (error, exitCode) => say('error', { ...failureFields(error), exitCode }),
  };
}

function exactInteger(value: bigint): number | string {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString();
}
