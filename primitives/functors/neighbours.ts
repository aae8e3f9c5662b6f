import type { Module, Operand } from '../ir/ir.ts';
import { functorError, newParameter, recorder } from './recorder.ts';
import { assemble, flatten, leafTypes, requireShapeOf, type Shape, type ValuesOf } from './shapes.ts';
import { type U32, Value } from './value.ts';

/** A parameter whose values are read at the current cell and at cells around it; see {@link neighbours}. */
export class NeighboursParameter<S extends Shape> {
  readonly neighbourhood: S;

  constructor(shape: S) {
    this.neighbourhood = shape;
  }
}

/**
 * Declares a parameter for a column, or a record of columns, that a functor reads at cells around the current cell.
 * `stencil` evaluates such a functor for every cell of a grid. In the body, `at(dx)` and `at(dx, dy)` return the values
 * of the cell `dx` columns to the right and `dy` rows below. `x` and `y` are the coordinates of the current cell, counted
 * from the first cell of a row and from the first row.
 *
 * @example
 * const mean = fn({ z: neighbours(f32) }, f32, ({ z }) => z.at(-1).add(z.at(0)).add(z.at(1)).div(3));
 * await ctx.read(stencil(mean, { z: ctx.column(Float32Array.of(0, 3, 6, 0)) })); // Float32Array [1, 3, 3, 2]
 */
export function neighbours<S extends Shape>(shape: S): NeighboursParameter<S> {
  requireShapeOf('neighbours', 'shape', shape);
  return new NeighboursParameter(shape);
}

/** A neighbour that a functor reads: the name of the parameter, and the neighbour's offset in columns and rows. */
export interface NeighbourOffset {
  readonly parameter: string;
  readonly dx: number;
  readonly dy: number;
}

/** What a functor asks of the cells around the current cell: a neighbour's values, or a coordinate of the cell. */
export type CellReading = NeighbourOffset | { readonly parameter: string; readonly axis: 'x' | 'y' };

/** The object through which the body of a functor reads the current cell and the cells around it. */
export class Neighbours<S extends Shape> {
  readonly shape: S;
  readonly #find: (dx: number, dy: number) => ValuesOf<S>;
  readonly #along: (axis: 'x' | 'y') => U32;

  constructor(shape: S, find: (dx: number, dy: number) => ValuesOf<S>, along: (axis: 'x' | 'y') => U32) {
    this.shape = shape;
    this.#find = find;
    this.#along = along;
  }

  /** The current cell's place in its row: 0 for the cells of the first column. */
  get x(): U32 {
    return this.#along('x');
  }

  /** The current cell's row: 0 for the cells of the first row, and for all cells if they form a single row. */
  get y(): U32 {
    return this.#along('y');
  }

  /**
   * The values of the cell `dx` columns to the right of the current cell and `dy` rows below. The offsets must be
   * numbers that are known when the functor is recorded.
   */
  at(dx: number, dy = 0): ValuesOf<S> {
    return this.#find(requireOffset(dx), requireOffset(dy));
  }
}

function requireOffset(offset: number): number {
  if (Number.isInteger(offset) && Math.abs(offset) < 2 ** 31) return offset;
  throw functorError(
    'neighbour',
    `${typeof offset === 'number' ? offset : 'A value of the device'} is not an offset of a neighbour.`,
    'Write a whole number: offsets must be known when the functor is recorded.',
  );
}

/**
 * Makes the object with which the body reads the neighbours of a parameter. Every neighbour that the body reads becomes
 * a parameter of the recorded function.
 */
export function recordNeighbours<S extends Shape>(parameter: string, shape: S, readings: CellReading[]): Neighbours<S> {
  const home = recorder();
  const known = new Map<string, unknown>();
  const once = <T>(key: string, take: () => T): T => {
    if (recorder() !== home) {
      throw functorError(
        'out-of-scope',
        `The neighbours ${parameter} must not be used in another functor.`,
        'Pass them to the other functor as an argument.',
      );
    }
    const taken = known.has(key) ? (known.get(key) as T) : take();
    known.set(key, taken);
    return taken;
  };
  const find = (dx: number, dy: number): ValuesOf<S> =>
    once(`${dx} ${dy}`, () => {
      readings.push({ parameter, dx, dy });
      const values = leafTypes(shape).map((type) => new Value(newParameter(type)));
      return assemble(shape, values) as unknown as ValuesOf<S>;
    });
  const along = (axis: 'x' | 'y'): U32 =>
    once(axis, () => {
      readings.push({ parameter, axis });
      return new Value(newParameter('u32'));
    });
  return new Neighbours(shape, find, along);
}

const readingsByModule = new WeakMap<Module, readonly CellReading[]>();

/**
 * Stores which neighbours and coordinates a module takes as parameters. They come after all other parameters of the
 * module. Each scalar of a neighbour is a parameter of its own.
 */
export function noteReadings(module: Module, readings: readonly CellReading[]): Module {
  readingsByModule.set(module, readings);
  return module;
}

/** The neighbours and coordinates that a module takes as parameters, in order; see {@link noteReadings}. */
export function readingsOf(module: Module): readonly CellReading[] {
  return readingsByModule.get(module) ?? [];
}

/** The arguments for a called functor's neighbour parameters, taken from the neighbours of the calling functor. */
export function passNeighbours(
  name: string,
  module: Module,
  shapes: ReadonlyMap<string, Shape>,
  args: { readonly [name: string]: unknown },
): Operand[] {
  return readingsOf(module).flatMap((reading) => {
    const { parameter } = reading;
    const given = args[parameter];
    const shape = shapes.get(parameter)!;
    if (!(given instanceof Neighbours) || !sameShape(given.shape, shape)) {
      throw functorError(
        'type',
        `Parameter ${parameter} of functor ${name} must be the neighbours of a cell.`,
        'Pass a neighbours parameter of the same shape.',
      );
    }
    if ('axis' in reading) return [given[reading.axis].operand];
    return leavesOf(shape, given.at(reading.dx, reading.dy));
  });
}

function leavesOf(shape: Shape, values: unknown): Operand[] {
  const leaves = flatten(shape, values as never, (path) => {
    throw functorError('missing-field', `The neighbours are missing ${path}.`);
  });
  return (leaves as Value<'u32'>[]).map(({ operand }) => operand);
}

function sameShape(a: Shape, b: Shape): boolean {
  if (typeof a === 'function' || typeof b === 'function') return a === b;
  const names = Object.keys(a);
  return names.join() === Object.keys(b).join() && names.every((name) => sameShape(a[name]!, b[name]!));
}
