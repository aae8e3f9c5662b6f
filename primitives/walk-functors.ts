import { ArgumentError } from './checks/errors.ts';
import { bool, type FunctorDescription } from './functors/functor.ts';
import { isScalar, type Scalar, type Shape, shapeText } from './functors/shapes.ts';

/** The shapes of the fields of a walk's state. The state is passed from step to step. */
export type WalkState = { readonly [name: string]: Shape };

/** A functor that returns the initial state of a row's walk. Its parameters are fields of the row. */
export type WalkStart<S extends WalkState> = FunctorDescription & { readonly result: S };

/**
 * A functor that computes one step of a walk. Its parameters are fields of the row and of the walk's state. It returns
 * whether the walk has `more` steps, whether this step `emits` its `value`, and the next `state`.
 */
export type WalkStep<S extends WalkState, R extends Shape> = FunctorDescription & {
  readonly result: {
    readonly more: Scalar<'bool'>;
    readonly emits: Scalar<'bool'>;
    readonly state: S;
    readonly value: R;
  };
};

/**
 * Throws unless `start` returns a state, and `step` returns the result of a step with a state of the same shape. If
 * `value` is given, `step` must also return a value of this shape.
 */
export function requireWalk(start: FunctorDescription, step: FunctorDescription, value: Shape | undefined): void {
  if (isScalar(start.result)) {
    throw new ArgumentError('unfold/state', `Functor ${start.functorName} must return a state.`, {
      expected: 'a record',
      got: start.result.type,
    });
  }
  const { result } = step;
  const wanted = { more: bool, emits: bool, state: start.result, value: value ?? valueIn(result) };
  if (shapeText(wanted) === shapeText(result)) return;
  throw new ArgumentError('unfold/result', `Functor ${step.functorName} does not return the result of a step.`, {
    expected: shapeText(wanted),
    got: shapeText(result),
  });
}

function valueIn(result: Shape): Shape {
  return isScalar(result) ? bool : (result.value ?? bool);
}
