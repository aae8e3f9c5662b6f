import { counted } from './grouped.ts';
import type { RunSummary } from './log.ts';

/** The numbers and paths from which the summary of a `quadrille zonal` command is made. */
export interface ZonalSummary {
  readonly backend: string;
  readonly zones: number;
  /** Number of cells in all zones. A cell in two zones counts twice. */
  readonly cells: bigint;
  readonly seconds: number;
  /** Steps along x and y of the integer grid to which vertices of zones are snapped, in the raster's coordinates. */
  readonly gridStep: readonly [x: number, y: number];
  /** Paths of the files that were written. */
  readonly outputs: readonly string[];
}

/** Builds the summary that `quadrille zonal` prints when it has finished. */
export function zonalSummary(summary: ZonalSummary): RunSummary {
  const { backend, zones, cells, seconds, gridStep, outputs } = summary;
  const [x, y] = gridStep.map((step) => step.toPrecision(3));
  return {
    lines: [
      `${counted(zones, 'zone')}, ${counted(cells, 'cell')} inside, ${seconds.toFixed(1)} s on ${backend}.`,
      `Cell centres and edges were compared on a grid of ${x} × ${y} raster units.`,
      ...(outputs.length === 0 ? [] : [`Wrote ${outputs.join(', ')}.`]),
    ],
    fields: { ...summary, cells: exactInteger(cells) },
  };
}

function exactInteger(value: bigint): number | string {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString();
}
