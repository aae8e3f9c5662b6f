import type { Module, Operand } from '../ir/ir.ts';
import { functorError, newParameter, recorder } from './recorder.ts';
import { assemble, flatten, leafTypes, requireShapeOf, type Shape, type ValuesOf } from './shapes.ts';
import { Value } from './value.ts';

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
 * of the cell `dx` columns to the right and `dy` rows below.
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

/** The object through which the body of a functor reads the current cell and the cells around it. */
export class Neighbours<S extends Shape> {
  readonly shape: S;
  readonly #find: (dx: number, dy: number) => ValuesOf<S>;

  constructor(shape: S, find: (dx: number, dy: number) => ValuesOf<S>) {
    this.shape = shape;
    this.#find = find;
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
export function recordNeighbours<S extends Shape>(
  parameter: string,
  shape: S,
  offsets: NeighbourOffset[],
): Neighbours<S> {
  const home = recorder();
  const known = new Map<string, ValuesOf<S>>();
  const take = (dx: number, dy: number): ValuesOf<S> => {
    offsets.push({ parameter, dx, dy });
    const values = leafTypes(shape).map((type) => new Value(newParameter(type)));
    return assemble(shape, values) as unknown as ValuesOf<S>;
  };
  return new Neighbours(shape, (dx, dy) => {
    if (recorder() !== home) {
      throw functorError(
        'out-of-scope',
        `The neighbours ${parameter} must not be used in another functor.`,
        'Pass them to the other functor as an argument.',
      );
    }
    const key = `${dx} ${dy}`;
    const values = known.get(key) ?? take(dx, dy);
    known.set(key, values);
    return values;
  });
}

const offsetsByModule = new WeakMap<Module, readonly NeighbourOffset[]>();

/**
 * Stores which neighbours a module takes as parameters. The parameters of the neighbours come after all other
 * parameters of the module. Each scalar of a neighbour is a parameter of its own.
 */
export function noteOffsets(module: Module, offsets: readonly NeighbourOffset[]): Module {
  offsetsByModule.set(module, offsets);
  return module;
}

/** The neighbours that a module takes as parameters, in order; see {@link noteOffsets}. */
export function offsetsOf(module: Module): readonly NeighbourOffset[] {
  return offsetsByModule.get(module) ?? [];
}

/** The arguments for a called functor's neighbour parameters, taken from the neighbours of the calling functor. */
export function passNeighbours(
  name: string,
  module: Module,
  shapes: ReadonlyMap<string, Shape>,
  args: { readonly [name: string]: unknown },
): Operand[] {
  return offsetsOf(module).flatMap(({ parameter, dx, dy }) => {
    const given = args[parameter];
    const shape = shapes.get(parameter)!;
    if (!(given instanceof Neighbours) || !sameShape(given.shape, shape)) {
      throw functorError(
        'type',
        `Parameter ${parameter} of functor ${name} must be the neighbours of a cell.`,
        'Pass a neighbours parameter of the same shape.',
      );
    }
    return leavesOf(shape, given.at(dx, dy));
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
