import type { Note } from '../algorithms/notes.ts';
import { escapeControls, withoutSecrets } from '../algorithms/quoted-names.ts';
import { describeFailure } from './failure.ts';
import type { Log, LogStream, RunSummary } from './log.ts';
import { progressBar } from './progress-bar.ts';

const NOTES_SHOWN = 20;

/**
 * Creates a log for people. Notes and the summary are sentences. If the stream is a terminal, the log has a progress
 * bar.
 *
 * The log prints the first twenty notes and the number of further notes. `--json-log` and JSON results contain all
 * notes. Control characters, as names of files may have, are escaped. Passwords in addresses are left out.
 */
export function humanLog(stream: LogStream, { quiet }: { readonly quiet: boolean }): Log {
  const bar = !quiet && stream.isTTY === true ? progressBar(stream) : undefined;
  let notes = 0;
  const say = (line: string): void => {
    bar?.clear();
    stream.write(`${withoutSecrets(line).split('\n').map(escapeControls).join('\n')}\n`);
  };
  const unlessQuiet = quiet ? () => undefined : say;
  const note = ({ message }: Note): void => {
    notes++;
    if (notes <= NOTES_SHOWN) unlessQuiet(`note: ${escapeControls(message)}`);
  };
  const summary = ({ lines }: RunSummary): void => {
    if (notes > NOTES_SHOWN) unlessQuiet(`note: ${notes - NOTES_SHOWN} more; --json-log lists them.`);
    for (const line of lines) unlessQuiet(escapeControls(line));
  };
  return {
    progressEvery: 100,
    note,
    news: ({ line }) => unlessQuiet(escapeControls(line)),
    progress: (report, unit, figures) => bar?.draw(report, unit, figures),
    clearProgress: () => bar?.clear(),
    summary,
    error: (error) => say(`quadrille: ${describeFailure(error)}`),
  };
}
