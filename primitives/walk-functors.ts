import { ArgumentError } from './errors.ts';
import { bool, type FunctorDescription } from './functors/functor.ts';
import { isScalar, type Scalar, type Shape, shapeText } from './functors/shapes.ts';

/** The state that a walk carries from step to step, field by field. */
export type WalkState = { readonly [name: string]: Shape };

/** A functor of a row's fields that returns the initial state of the row's walk. */
export type WalkStart<S extends WalkState> = FunctorDescription & { readonly result: S };

/**
 * A functor of a row's fields and of the walk's state. It returns whether there is `more` to walk after this step,
 * whether the step `emits` its `value`, and the next `state`.
 */
export type WalkStep<S extends WalkState, R extends Shape> = FunctorDescription & {
  readonly result: {
    readonly more: Scalar<'bool'>;
    readonly emits: Scalar<'bool'>;
    readonly state: S;
    readonly value: R;
  };
};

/** Requires a start and a step that fit each other, and a value of the given shape, if any. */
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
