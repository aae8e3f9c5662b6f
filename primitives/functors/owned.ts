import type { Operand, ScalarType } from '../ir/ir.ts';
import { append, functorError, newLocal, readOwned, use, wrongInput } from './recorder.ts';
import { isScalarType, type Scalar } from './shapes.ts';
import { type Input, operandOf, type U32, Value } from './value.ts';

/** A parameter for a column of which a strip owns some rows; see {@link owned}. */
export class OwnedParameter<T extends ScalarType> {
  readonly owned: Scalar<T>;

  constructor(type: Scalar<T>) {
    this.owned = type;
  }
}

/**
 * Declares a parameter for a column that the functor reads and writes. `forEachStrip` runs such a functor for every
 * strip of rows. The functor has no result: it writes.
 *
 * @example
 * const running = fn({ first: u32, end: u32, x: owned(u32) }, {}, ({ first, end, x }) => {
 *   For(first.add(1), end, (i) => x.set(i, x.at(i).add(x.at(i.sub(1)))));
 * });
 * const x = ctx.column(Uint32Array.of(1, 2, 3, 4));
 * await ctx.read(forEachStrip({ x }, [{ rows: 2, each: running }]).x); // Uint32Array [1, 3, 3, 7]
 */
export function owned<T extends ScalarType>(type: Scalar<T>): OwnedParameter<T> {
  if (!isScalarType(type)) throw wrongInput('owned', 'type', type, 'u32, i32, f32 or bool');
  return new OwnedParameter(type);
}

/** A column inside a functor that owns some of its rows, and reads and writes them in order. */
export class OwnedValue<T extends ScalarType> {
  /** @internal */
  readonly name: string;
  readonly type: T;

  constructor(name: string, type: T) {
    this.name = name;
    this.type = type;
  }

  /** The element of row `index` as it is now; zero or false if the strip does not own the row. */
  at(index: Input<'u32'>): Value<T> {
    return new Value<T>(readOwned(this.name, this.type, this.#place(index)));
  }

  /** Writes the element of row `index`. Writes nothing if the strip does not own the row. */
  set(index: Input<'u32'>, value: Input<T>): void {
    const place = use(this.#place(index));
    append({ kind: 'writeOwned', array: this.name, index: place, value: use(operandOf(this.type, value)) });
  }

  /** The number of rows of the column, of all strips together. */
  length(): U32 {
    const local = newLocal('u32');
    append({ kind: 'length', local, array: this.name });
    return new Value<'u32'>(local);
  }

  #place(index: Input<'u32'>): Operand {
    if (typeof index === 'number' && index < 0) {
      throw functorError('index', `Column ${this.name} has no row ${index}.`, 'Rows count from 0.');
    }
    return operandOf('u32', index);
  }
}
