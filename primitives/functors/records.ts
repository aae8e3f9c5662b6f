import { assemble, leafPaths, leafTypes, type Shape, type ValuesOf } from './shapes.ts';
import { ArrayValue, type Input, type U32 } from './value.ts';

/** A parameter for a captured table, whose rows the functor can read at any index. */
export class RecordsParameter<S extends Shape> {
  readonly records: S;

  constructor(shape: S) {
    this.records = shape;
  }
}

/** The name under which a functor captures a column of a table: that of the parameter and the path of the field. */
export function nameOfLeaf(parameter: string, path: string): string {
  return `${parameter}.${path}`;
}

/** A captured table inside a functor, whose rows can be read at any index. */
export class Records<S extends Shape> {
  readonly shape: S;
  /**
   * The columns of the table, in the order of the shape's fields.
   *
   * @internal
   */
  readonly arrays: readonly ArrayValue<'u32' | 'i32' | 'f32' | 'bool'>[];

  constructor(shape: S, parameter: string) {
    this.shape = shape;
    const types = leafTypes(shape);
    this.arrays = leafPaths(shape).map((path, leaf) => new ArrayValue(nameOfLeaf(parameter, path), types[leaf]!));
  }

  /** The record at `index`; zero or false in every field if the index is not below the length. */
  at(index: Input<'u32'>): ValuesOf<S> {
    return assemble(
      this.shape,
      this.arrays.map((array) => array.at(index)),
    ) as unknown as ValuesOf<S>;
  }

  /** The number of rows of the table. */
  length(): U32 {
    return this.arrays[0]!.length();
  }
}
