import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import { placeInDomain, type Quadrants, WORLD } from '../../algorithms/quadrants/index.ts';
import type { Context } from '../../primitives/index.ts';
import type { MeasuredOn } from '../shared/measured.ts';
import { timed } from '../shared/measuring.ts';
import { decomposeSerially, type SerialQuadrants } from './serial-quadrants.ts';

/** A group of polygons with similar numbers of vertices, as in the paper's Table 1. */
export interface Group {
  readonly name: string;
  readonly polygons: Polygons;
}

/** One point of a figure, with the times of all rounds. */
export interface Measurement {
  readonly experiment: string;
  /** The hardware: one thread of plain JavaScript, a number of workers, or WebGPU. */
  readonly on: string;
  readonly group: string;
  readonly method: string;
  /** The value on the x axis: levels, quadrants, windows or passages, depending on the experiment. */
  readonly x: number;
  /** The number of quadrants, nodes or pairs in the result. All methods must find the same number. */
  readonly found: number;
  readonly seconds: readonly number[];
}

/** The contents of a file of measurements, all made on one machine. */
export interface Measured extends MeasuredOn {
  readonly source: string;
  readonly groups: readonly { readonly name: string; readonly polygons: number; readonly vertices: number }[];
  readonly measurements: readonly Measurement[];
}

/** The settings that all experiments of a run share. */
export interface Bench {
  readonly on: string;
  /** The context of the measured backend; undefined for plain JavaScript on one thread. */
  readonly context: Context | undefined;
  readonly map: Polygons;
  readonly groups: readonly Group[];
  readonly levels: readonly number[];
  readonly rounds: number;
  /** Maximum seconds of one run. A run is skipped if earlier runs suggest that it would take longer. */
  readonly patience: number;
  record(measurement: Omit<Measurement, 'on'>): void;
}

export type Experiment = (bench: Bench) => Promise<void>;

/**
 * Runs work once as a warm-up, then times `rounds` runs. For work that takes more than a tenth of `patience`, only one
 * run is timed. Returns the seconds of the timed runs and the result of the last run.
 */
export async function timeRounds<T>(
  { context, rounds, patience }: Bench,
  work: () => T | Promise<T>,
): Promise<{ readonly seconds: readonly number[]; readonly last: T }> {
  const run = () =>
    timed(async () => {
      const result = await work();
      await context?.sync();
      return result;
    });
  await context?.sync();
  let { wall, result } = await run();
  if (wall > patience / 10 && context !== undefined) {
    // The first run may have compiled kernels, so the work runs and is timed again.
    context.dispose(result);
    ({ wall, result } = await run());
  }
  if (wall > patience / 10) return { seconds: [wall], last: result };
  const seconds: number[] = [];
  for (let round = 0; round < rounds; round++) {
    context?.dispose(result);
    ({ wall, result } = await run());
    seconds.push(wall);
  }
  return { seconds, last: result };
}

const onHost = new WeakMap<Polygons, Map<number, SerialQuadrants>>();

/**
 * Returns the quadrants of all polygons of a map, in host memory. Results are cached for each map and number of levels.
 */
export function quadrantsOnHost(map: Polygons, levels: number): SerialQuadrants {
  const known = onHost.get(map) ?? new Map<number, SerialQuadrants>();
  onHost.set(map, known);
  const found = known.get(levels) ?? decomposeSerially(placeInDomain(map, WORLD), levels);
  known.set(levels, found);
  return found;
}

/** Copies quadrants from host memory to a device. */
export function uploadQuadrants(context: Context, { polygon, code, level, boundary }: SerialQuadrants): Quadrants {
  return {
    polygon: context.column(polygon),
    code: { lo: context.column(code), hi: context.column(new Uint32Array(code.length)) },
    level: context.column(level),
    boundary: context.column(boundary),
  };
}
