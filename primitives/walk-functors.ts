import { ArgumentError } from './errors.ts';
import { bool, type FunctorDescription } from './functors/functor.ts';
import { isScalar, type Scalar, type Shape, shapeText } from './functors/shapes.ts';

/** What a walk carries from step to step, field by field. */
export type WalkState = { readonly [name: string]: Shape };

/** A functor of a row's fields that returns the state in which the row's walk begins. */
export type WalkStart<S extends WalkState> = FunctorDescription & { readonly result: S };

/**
 * A functor of a row's fields and of its state. It returns whether there is `more` to walk after this step, whether the
 * step `emits` its `value`, and the `state` for the next one.
 */
export type WalkStep<S extends WalkState, R extends Shape> = FunctorDescription & {
  readonly result: {
    readonly more: Scalar<'bool'>;
    readonly emits: Scalar<'bool'>;
    readonly state: S;
    readonly value: R;
  };
};

/** A start and a step that fit each other, and a value of the given shape, if one is given. */
export function requireWalk(start: FunctorDescription, step: FunctorDescription, value: Shape | undefined): void {
  if (isScalar(start.result)) {
    throw new ArgumentError('unfold/state', `Functor ${start.functorName} returns no state.`, {
      expected: 'a record',
      got: start.result.type,
    });
  }
  const { result } = step;
  const wanted = { more: bool, emits: bool, state: start.result, value: value ?? valueIn(result) };
  if (shapeText(wanted) === shapeText(result)) return;
  throw new ArgumentError('unfold/result', `Functor ${step.functorName} does not return what a step has to.`, {
    expected: shapeText(wanted),
    got: shapeText(result),
  });
}

function valueIn(result: Shape): Shape {
  return isScalar(result) ? bool : (result.value ?? bool);
}
