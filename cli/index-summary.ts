import type { MaqFile } from '../formats/results/maq-file.ts';
import { counted } from './grouped.ts';
import type { BuildFigures } from './index-graph.ts';
import type { RunSummary } from './log.ts';

/** Facts about the construction of a tree. */
export interface BuildFacts extends BuildFigures {
  /** Path of the output, or `-` for stdout. */
  readonly file: string;
  readonly backend: string;
  readonly bytes: number;
  readonly seconds: number;
  /** Peak memory of the process in bytes, including workers but not the GPU. */
  readonly peakBytes: number;
  readonly outputs: readonly string[];
}

/** Returns the summary of `quadrille index build`. Its first line is for stdout, the other lines are for the log. */
export function buildSummary({ sets, levels, domain, tree }: MaqFile, facts: BuildFacts): RunSummary {
  const { file, backend, polygons, vertices, quadrants, bytes, seconds, peakBytes, outputs } = facts;
  const nodes = tree.nodes.level.length;
  const parts = [
    counted(sets.length, 'set'),
    counted(polygons, 'polygon'),
    counted(vertices, 'vertex', 'vertices'),
    counted(quadrants, 'quadrant'),
    counted(nodes, 'node'),
    counted(levels, 'level'),
    sizeText(bytes),
    `${seconds.toFixed(1)} s on ${backend}`,
    `at most ${sizeText(peakBytes)} of memory`,
  ];
  const { left, bottom, size } = domain;
  return {
    lines: [
      `${file === '-' ? 'tree' : file}: ${parts.join(', ')}.`,
      `The domain is ${left},${bottom},${size}: a step is ${(size / 2 ** 30).toPrecision(3)}.`,
      ...(outputs.length === 0 ? [] : [`Wrote ${outputs.join(', ')}.`]),
    ],
    fields: {
      ...facts,
      sets: sets.map(({ name, crs, names }) => ({ name, crs, polygons: names.length })),
      levels,
      domain,
      nodes,
      edges: 'edges' in tree,
    },
  };
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** Formats a number of bytes, such as `1.2 MB`. */
export function sizeText(bytes: number): string {
  let [scaled, unit] = [bytes, 0];
  for (; scaled >= 999.5 && unit < UNITS.length - 1; unit++) scaled /= 1000;
  return `${unit > 0 && scaled < 99.5 ? scaled.toPrecision(2) : Math.round(scaled)} ${UNITS[unit]}`;
}
