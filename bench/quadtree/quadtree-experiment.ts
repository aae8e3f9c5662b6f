import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import { placeInDomain, type Quadrants, WORLD } from '../../algorithms/quadrants/index.ts';
import type { Context } from '../../primitives/index.ts';
import { timed } from '../shared/compare-input.ts';
import { decomposeSerially, type SerialQuadrants } from './serial-quadrants.ts';

/** Polygons by their number of vertices, as in the paper's Table 1. */
export interface Group {
  readonly name: string;
  readonly polygons: Polygons;
}

/** One point of a figure. */
export interface Measurement {
  readonly experiment: string;
  /** Where it ran: one thread of plain JavaScript, a number of workers, or WebGPU. */
  readonly on: string;
  readonly group: string;
  readonly method: string;
  /** Levels, quadrants, windows or passages. */
  readonly x: number;
  /** The number of resulting quadrants, nodes or pairs. */
  readonly found: number;
  readonly seconds: readonly number[];
}

/** The contents of the file of measurements. */
export interface Measured {
  readonly label: string;
  readonly machine: string;
  readonly date: string;
  readonly commit: string;
  readonly source: string;
  readonly groups: readonly { readonly name: string; readonly polygons: number; readonly vertices: number }[];
  readonly measurements: readonly Measurement[];
}

/** The setting of the experiments. */
export interface Bench {
  readonly on: string;
  /** Undefined for plain JavaScript on one thread. */
  readonly context: Context | undefined;
  readonly map: Polygons;
  readonly groups: readonly Group[];
  readonly levels: readonly number[];
  readonly rounds: number;
  /** Maximum seconds of one run, estimated from the runs before it. */
  readonly patience: number;
  record(measurement: Omit<Measurement, 'on'>): void;
}

export type Experiment = (bench: Bench) => Promise<void>;

/** Seconds of all rounds after an untimed one, or of a single round if it took long; and the last result. */
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
    // The time may have been spent on compiling kernels.
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

/** The quadrants of all polygons of a map in host memory, computed once. */
export function quadrantsOnHost(map: Polygons, levels: number): SerialQuadrants {
  const known = onHost.get(map) ?? new Map<number, SerialQuadrants>();
  onHost.set(map, known);
  const found = known.get(levels) ?? decomposeSerially(placeInDomain(map, WORLD), levels);
  known.set(levels, found);
  return found;
}

/** Uploads quadrants to a device. */
export function uploadQuadrants(context: Context, { polygon, code, level, boundary }: SerialQuadrants): Quadrants {
  return {
    polygon: context.column(polygon),
    code: { lo: context.column(code), hi: context.column(new Uint32Array(code.length)) },
    level: context.column(level),
    boundary: context.column(boundary),
  };
}

/** Pseudo-random numbers in [0, 1) from a seed: mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
