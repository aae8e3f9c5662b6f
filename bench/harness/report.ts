import { type ReportSection, reportPage } from '../../graph/reports/report-page.ts';
import { machineLines } from './machine.ts';
import { ratePlot, ratioPlot, timePlot } from './plots.ts';
import { byCase, type Results, tableCells } from './tables.ts';

/** The drawings of a run, as standalone SVGs. */
export interface Drawings {
  readonly time: string;
  readonly rate: string;
  readonly ratios: string;
}

export async function drawResults({ rows }: Results): Promise<Drawings> {
  const [time, rate, ratios] = await Promise.all([timePlot(rows), ratePlot(rows), ratioPlot(rows)]);
  return { time, rate, ratios };
}

const HOW =
  'Medians over rounds in which all candidates take turns, with minimum and maximum. Times are per call, measured over a ' +
  'batch of calls: on GPUs by their own clock, without the host; on CPUs every call is awaited. “Latency” is the time of a single call, ' +
  'from its start until the host knows that it is done. Bytes are the minimum that must be read and written. ' +
  '“Time ÷ ours” is the time divided by that of our fastest backend.';
const CHECKED = 'Every result was compared with the reference before it was timed.';
const DASHED = 'Dashed: the fastest memory copy on the same hardware.';

/** A sentence that says which results were compared with the reference. */
function checkedText(rows: Results['rows']): string {
  const unchecked = new Set(rows.filter(({ checked }) => !checked).map(({ experiment, n }) => `${experiment} ${n}`));
  if (unchecked.size === 0) return CHECKED;
  return `Results were not compared with the reference for: ${[...unchecked].join(', ')}; all others were, before they were timed.`;
}

/** A self-contained HTML page about a run: machine, candidates, drawings, tables and omissions. */
export function resultsReport(results: Results, { time, rate, ratios }: Drawings): string {
  const { machine, candidates, rows, omissions, complete } = results;
  const told = `${machine.date}, ${machine.cpu}, ${byCase(rows).length} cases${complete ? '' : '; stopped before its end'}`;
  const sections: ReportSection[] = [
    {
      title: 'Machine',
      table: { columns: ['', ''], rows: machineLines(machine).map(([name, value]) => [name, value]) },
    },
    {
      title: 'What was compared',
      table: {
        columns: ['candidate', 'kind', 'description'],
        rows: candidates.map((one) => [one.name, one.kind, one.description]),
      },
    },
    { title: 'Time', text: `${HOW} ${checkedText(rows)}`, svg: time },
    { title: 'Rate', ...(rows.some(({ experiment }) => experiment === 'copy') && { text: DASHED }), svg: rate },
    { title: 'Peers', svg: ratios },
    ...[...new Set(rows.map(({ experiment }) => experiment))].map((experiment) => {
      const [columns, ...cells] = tableCells(rows.filter((row) => row.experiment === experiment));
      return { title: experiment, table: { columns: columns!, rows: cells } };
    }),
    ...(omissions.length === 0 ? [] : [omitted(results)]),
  ];
  return reportPage({ title: 'quadrille bench', told, sections });
}

function omitted({ omissions }: Results): ReportSection {
  const rows = omissions.map(({ experiment, type, n, candidate, reason }) => [experiment, type, n, candidate, reason]);
  return { title: 'Left out', table: { columns: ['experiment', 'type', 'n', 'candidate', 'reason'], rows } };
}
