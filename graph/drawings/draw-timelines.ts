import { largestOf } from '../../primitives/host/extremes.ts';
import type { Trace, TraceMark } from '../definition/shape.ts';
import { fullnessOf, utilisationOf } from '../reports/timeline.ts';
import { SIDE_COLOURS } from './draw-svg.ts';
import { escapeMarkup, formatCount, formatDuration, formatPoint } from './markup.ts';

const SLICES = 180;
const LEFT = 150;
const PLOT = 720;
const RIGHT = 70;
const WIDTH = LEFT + PLOT + RIGHT;
const ROW = 46;
const BAND = 34;
const TEXT = '#16202c';
const QUIET = '#52606d';
const EDGE = { line: '#b06a1b', fill: '#f3dfc6' };
const MARKS = 500;

/** Draws, for each node, how busy its lanes were over time, on the CPU and on the GPU. Ticks show events. */
export function drawUtilisation(trace: Trace): string {
  const rows = trace.shape.nodes.map(({ name }, row) => {
    const { cpu, gpu } = utilisationOf(trace, name, SLICES);
    const both = cpu.map((part, slice) => part + gpu[slice]!);
    const busy = both.reduce((sum, part) => sum + part, 0) / SLICES;
    const top = row * ROW;
    return [
      rowLabel(name, `${(100 * busy).toFixed(0)} %`, top),
      area(both, 1, top, SIDE_COLOURS.gpu.fill, SIDE_COLOURS.gpu.line),
      area(cpu, 1, top, SIDE_COLOURS.cpu.fill, SIDE_COLOURS.cpu.line),
      ...markTicks(trace, name, top),
    ].join('');
  });
  return chart('Utilisation of nodes over time', rows, trace);
}

/** Draws, for each edge, the number of items over time, relative to the capacity of the edge. */
export function drawOccupancy(trace: Trace): string {
  const names = trace.shape.edges.map(({ to, toPort }) => (toPort === undefined ? to : `${to}.${toPort}`));
  const edges = [...new Set(names)];
  const rows = edges.map((name, row) => {
    const { mean, peak } = fullnessOf(trace, name, SLICES);
    const { items } = trace.shape.edges[names.indexOf(name)]!.capacity;
    const max = Number.isFinite(items) ? items : largestOf(peak, 1);
    const top = row * ROW;
    return [
      rowLabel(`→ ${name}`, `of ${formatCount(items)}`, top),
      area(peak, max, top, EDGE.fill, 'none'),
      area(mean, max, top, 'none', EDGE.line),
    ].join('');
  });
  return chart('Occupancy of edges over time', rows, trace);
}

function chart(title: string, rows: readonly string[], trace: Trace): string {
  const height = rows.length * ROW + 34;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"` +
      ` role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${title}</title>`,
    '<g transform="translate(0 8)">',
    ...rows,
    timeAxis(rows.length * ROW - (ROW - BAND), trace),
    '</g></svg>',
  ].join('\n');
}

function rowLabel(name: string, figure: string, top: number): string {
  const middle = top + BAND / 2 + 4;
  const short = name.length > 20 ? `${name.slice(0, 19)}…` : name;
  return (
    `<rect x="${LEFT}" y="${top}" width="${PLOT}" height="${BAND}" fill="#f5f7f9"/>` +
    `<text x="${LEFT - 10}" y="${middle}" text-anchor="end" fill="${TEXT}">${escapeMarkup(short)}` +
    `<title>${escapeMarkup(name)}</title></text>` +
    `<text x="${LEFT + PLOT + 8}" y="${middle}" fill="${QUIET}">${escapeMarkup(figure)}</text>`
  );
}

/** Draws values per time slice as an area with steps. Neighbouring slices of equal height form one step. */
function area(values: Float64Array, max: number, top: number, fill: string, line: string): string {
  const bottom = top + BAND;
  const steps: string[] = [];
  let last: number | undefined;
  for (const [slice, value] of values.entries()) {
    const y = bottom - BAND * Math.min(1, value / max);
    if (y === last) continue;
    steps.push(`H${formatPoint(LEFT + (PLOT * slice) / SLICES)}V${formatPoint(y)}`);
    last = y;
  }
  if (values.every((value) => value === 0)) return '';
  const path = `M${LEFT} ${bottom}${steps.join('')}H${LEFT + PLOT}V${bottom}`;
  return `<path d="${path}${fill === 'none' ? '' : 'Z'}" fill="${fill}" stroke="${line}" stroke-width="1"/>`;
}

/**
 * Draws a tick for each mark of a node (a named event in the trace). If there are more than `MARKS` marks, draws ticks
 * for an evenly spaced selection.
 */
function markTicks({ marks, started, ended }: Trace, node: string, top: number): string[] {
  const own = marks.filter((mark) => mark.node === node);
  const step = Math.max(1, own.length / MARKS);
  return Array.from({ length: Math.min(own.length, MARKS) }, (_, i) => {
    const mark = own[Math.floor(i * step)]!;
    const x = formatPoint(LEFT + (PLOT * (mark.time - started)) / Math.max(ended - started, Number.MIN_VALUE));
    const told = `${mark.name} at ${formatDuration(mark.time - started)}`;
    const colour = colourOf(mark);
    return `<path d="M${x} ${top}v5" stroke="${colour}" stroke-width="1.5"><title>${escapeMarkup(told)}</title></path>`;
  });
}

function colourOf({ name }: TraceMark): string {
  if (name.endsWith('to-cpu')) return SIDE_COLOURS.cpu.line;
  if (name.endsWith('to-gpu')) return SIDE_COLOURS.gpu.line;
  return name.startsWith('migrate/') && name !== 'migrate/gpu-lost' ? '#8c96a0' : '#b3261e';
}

function timeAxis(y: number, { started, ended }: Trace): string {
  const length = ended - started;
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const x = LEFT + PLOT * part;
    return (
      `<path d="M${x} ${y}v5" stroke="${QUIET}"/>` +
      `<text x="${x}" y="${y + 18}" text-anchor="middle" fill="${QUIET}">${formatDuration(length * part)}</text>`
    );
  });
  return `<path d="M${LEFT} ${y}h${PLOT}" stroke="${QUIET}"/>${ticks.join('')}`;
}
