import { counted } from './grouped.ts';
import type { RunSummary } from './log.ts';
import type { WorkerFigures } from './zonal-workers.ts';

/** The numbers and paths from which the summary of a `quadrille zonal` command is made. */
export interface ZonalSummary {
  readonly backend: string;
  readonly zones: number;
  /** Number of cells in all zones. A cell in two zones counts twice. */
  readonly cells: bigint;
  readonly seconds: number;
  /** Number of rasters. */
  readonly rasters: number;
  /** Number of bands of each. */
  readonly bands: number;
  /**
   * Steps along x and y of the integer grids to which vertices of zones are snapped, in the rasters' coordinates, each
   * once.
   */
  readonly gridSteps: readonly (readonly [x: number, y: number])[];
  /** What each worker of a queue has done, by name. Undefined if this process counted. */
  readonly workers?: ReadonlyMap<string, WorkerFigures> | undefined;
  /** Paths of the files that were written. */
  readonly outputs: readonly string[];
}

/** Builds the summary that `quadrille zonal` prints when it has finished. */
export function zonalSummary(summary: ZonalSummary): RunSummary {
  const { backend, zones, rasters, bands, cells, seconds, gridSteps, outputs } = summary;
  const several = [rasters > 1 && counted(rasters, 'raster'), bands > 1 && counted(Math.round(bands), 'band')];
  const where = ['inside', ...several.filter((name) => name !== false)].join(' in ');
  return {
    lines: [
      `${counted(zones, 'zone')}, ${counted(cells, 'cell')} ${where}, ${seconds.toFixed(1)} s on ${backend}.`,
      `Cell centres and edges were compared on ${grids(gridSteps)} raster units.`,
      ...workerLines(summary.workers),
      ...(outputs.length === 0 ? [] : [`Wrote ${outputs.join(', ')}.`]),
    ],
    fields: {
      ...{ backend, zones, cells: exactInteger(cells), seconds, gridStep: gridSteps[0] },
      ...(rasters > 1 && { rasters, gridSteps }),
      ...(summary.workers && { workers: [...summary.workers].map(([name, done]) => ({ name, ...done })) }),
      outputs,
    },
  };
}

const WORKERS_SHOWN = 16;

function workerLines(workers: ZonalSummary['workers']): string[] {
  if (workers === undefined) return [];
  const lines = [...workers].map(([name, { partitions, cells, cellsPerSecond }]) => {
    const rate = `${(cellsPerSecond / 1e6).toPrecision(3)} million a second`;
    return `${name}: ${counted(partitions, 'partition')}, ${counted(cells, 'cell')}, ${rate}.`;
  });
  const others = lines.length > WORKERS_SHOWN ? [`${lines.length - WORKERS_SHOWN} more workers.`] : [];
  return [...lines.slice(0, WORKERS_SHOWN), ...others];
}

const GRIDS_SHOWN = 3;

function grids(steps: ZonalSummary['gridSteps']): string {
  const shown = steps.slice(0, GRIDS_SHOWN).map((step) => step.map((length) => length.toPrecision(3)).join(' × '));
  const others = steps.length > GRIDS_SHOWN ? ` and ${steps.length - GRIDS_SHOWN} others` : '';
  return `${steps.length === 1 ? 'a grid' : 'grids'} of ${shown.join(', ')}${others}`;
}

function exactInteger(value: bigint): number | string {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString();
}
