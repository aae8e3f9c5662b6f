import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import { placeInDomain, type Quadrants, WORLD } from '../../algorithms/quadrants/index.ts';
import type { Context } from '../../primitives/index.ts';
import { timed } from '../shared/compare-input.ts';
import { decomposeSerially, type SerialQuadrants } from './serial-quadrants.ts';

/** Polygons by their numbers of vertices, the paper's Table 1. */
export interface Group {
  readonly name: string;
  readonly polygons: Polygons;
}

/** One point of a figure. */
export interface Measurement {
  readonly experiment: string;
  /** Where it ran: one thread of plain JavaScript, so many workers, or WebGPU. */
  readonly on: string;
  readonly group: string;
  readonly method: string;
  /** Levels, quadrants, windows or passages. */
  readonly x: number;
  /** How many quadrants, nodes or pairs came of it. */
  readonly found: number;
  readonly seconds: readonly number[];
}

/** What the file of measurements holds. */
export interface Measured {
  readonly label: string;
  readonly machine: string;
  readonly date: string;
  readonly commit: string;
  readonly source: string;
  readonly groups: readonly { readonly name: string; readonly polygons: number; readonly vertices: number }[];
  readonly measurements: readonly Measurement[];
}

/** What experiments run on, and with. */
export interface Bench {
  readonly on: string;
  /** None for plain JavaScript on one thread. */
  readonly context: Context | undefined;
  readonly map: Polygons;
  readonly groups: readonly Group[];
  readonly levels: readonly number[];
  readonly rounds: number;
  /** Seconds that one run may take, reckoned from the runs before it. */
  readonly patience: number;
  record(measurement: Omit<Measurement, 'on'>): void;
}

export type Experiment = (bench: Bench) => Promise<void>;

/** Seconds of all rounds after one that does not count, or of one alone where it took long; and the last result. */
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
    // It may have been the kernels' compilation.
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

/** The quadrants of all polygons of a map in the memory of the host, found once. */
export function quadrantsOnHost(map: Polygons, levels: number): SerialQuadrants {
  const known = onHost.get(map) ?? new Map<number, SerialQuadrants>();
  onHost.set(map, known);
  const found = known.get(levels) ?? decomposeSerially(placeInDomain(map, WORLD), levels);
  known.set(levels, found);
  return found;
}

/** Puts quadrants on a device. */
export function uploadQuadrants(context: Context, { polygon, code, level, boundary }: SerialQuadrants): Quadrants {
  return {
    polygon: context.column(polygon),
    code: { lo: context.column(code), hi: context.column(new Uint32Array(code.length)) },
    level: context.column(level),
    boundary: context.column(boundary),
  };
}

/** Numbers from 0 up to but not including 1, the same for the same seed: mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
