import type { Note } from '../algorithms/notes.ts';
import { describeFailure } from './failure.ts';
import type { Log, LogStream, ZonalSummary } from './log.ts';
import { progressBar } from './progress-bar.ts';

const NOTES_SHOWN = 20;

/**
 * A log for people: notes and a summary in sentences, and a progress bar where the stream is a terminal.
 *
 * Past the twentieth, notes are only counted; `--json-log` and JSON results have them all.
 */
export function humanLog(stream: LogStream, { quiet }: { readonly quiet: boolean }): Log {
  const bar = !quiet && stream.isTTY === true ? progressBar(stream) : undefined;
  let notes = 0;
  const say = (line: string): void => {
    bar?.clear();
    stream.write(`${line}\n`);
  };
  const unlessQuiet = quiet ? () => undefined : say;
  const note = ({ message }: Note): void => {
    notes++;
    if (notes <= NOTES_SHOWN) unlessQuiet(`note: ${message}`);
  };
  const summary = (result: ZonalSummary): void => {
    if (notes > NOTES_SHOWN) unlessQuiet(`note: ${notes - NOTES_SHOWN} more, which --json-log lists.`);
    for (const line of summaryLines(result)) unlessQuiet(line);
  };
  return {
    progressEvery: 100,
    note,
    progress: (report) => bar?.draw(report),
    clearProgress: () => bar?.clear(),
    summary,
    error: (error) => say(`quadrille: ${describeFailure(error)}`),
  };
}

function summaryLines({ backend, zones, cells, seconds, gridStep, outputs }: ZonalSummary): string[] {
  const [x, y] = gridStep.map((step) => step.toPrecision(3));
  return [
    `${counted(zones, 'zone')}, ${counted(cells, 'cell')} inside, ${seconds.toFixed(1)} s on ${backend}.`,
    `Cell centres and edges were compared on a grid of ${x} × ${y} raster units.`,
    ...(outputs.length === 0 ? [] : [`Wrote ${outputs.join(', ')}.`]),
  ];
}

function counted(value: number | bigint, thing: string): string {
  return `${value.toLocaleString('en-US')} ${thing}${BigInt(value) === 1n ? '' : 's'}`;
}
