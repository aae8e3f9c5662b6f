import { factsOf, type OperationName, operationNames, type ScalarType } from '../../primitives/ir/operations.ts';
import type { SketchExpression, SketchVector, VectorStatement } from './functor-sketch.ts';

/** A vector that is in scope. */
export interface VectorName {
  readonly name: string;
  readonly size: number;
  readonly isVariable: boolean;
}

/** What drawing needs to know of the place of a statement or an expression. */
interface Place {
  readonly draw: (bound: number) => number;
  readonly fresh: () => string;
  readonly vectors: readonly VectorName[];
}

/** Draws a scalar expression at a place. */
type DrawScalar<P> = (at: P, type: ScalarType, depth: number) => SketchExpression;

/** Operations on two vectors, or on a vector and a scalar. */
const arithmetic: readonly OperationName[] = ['add', 'sub', 'mul', 'div'];
/** Operations on vectors only. */
const unary = operationNames.filter((name) => factsOf(name).signature === 'unary' && factsOf(name).on.includes('f32'));
const extremes: readonly OperationName[] = ['min', 'max'];

/** Draws a declaration of a vector, or an assignment to a vector or to a component. */
export function drawVectorStatement<P extends Place>(
  at: P,
  scalar: DrawScalar<P>,
): { readonly statement: VectorStatement; readonly vectors: readonly VectorName[] } {
  const { draw, vectors } = at;
  const variables = vectors.filter(({ isVariable }) => isVariable);
  const target = variables[draw(Math.max(1, variables.length))];
  const choice = draw(5);
  if (target === undefined || choice === 0) {
    const [size, isVariable] = [2 + draw(3), draw(3) > 0];
    const named = { name: at.fresh(), size, isVariable };
    const kind = isVariable ? 'varVector' : 'letVector';
    const value = drawVector(at, scalar, size, 3);
    return { statement: { kind, name: named.name, value }, vectors: [...vectors, named] };
  }
  const { name, size } = target;
  if (choice < 3) {
    return { statement: { kind: 'setComponent', name, at: draw(size), value: scalar(at, 'f32', 2) }, vectors };
  }
  // Often the variable changes by what it was, which text writes as a compound assignment, or changes its order.
  const old: SketchVector = { kind: 'vector', name, size };
  const how = draw(3);
  const drawn = how === 0 ? swizzled(at, old, size) : drawVector(at, scalar, size, 3);
  const changed: SketchVector = { kind: 'byComponent', size, name: arithmetic[draw(4)]!, operands: [old, drawn] };
  return { statement: { kind: 'setVector', name, value: how === 1 ? changed : drawn }, vectors };
}

/** Draws a scalar that is computed of vectors. */
export function drawOfVector<P extends Place>(at: P, scalar: DrawScalar<P>, depth: number): SketchExpression {
  const size = at.vectors[at.draw(Math.max(1, at.vectors.length))]?.size ?? 2 + at.draw(3);
  const vector = drawVector(at, scalar, size, depth - 1);
  if (at.draw(3) > 0) return { kind: 'component', type: 'f32', vector, at: at.draw(size) };
  return { kind: 'dot', type: 'f32', operands: [vector, drawVector(at, scalar, size, depth - 1)] };
}

function drawVector<P extends Place>(at: P, scalar: DrawScalar<P>, size: number, depth: number): SketchVector {
  const { draw } = at;
  const named = at.vectors.filter((vector) => vector.size === size);
  if (named.length > 0 && draw(3) > 0) {
    return { kind: 'vector', name: named[draw(named.length)]!.name, size };
  }
  const others = at.vectors.filter((vector) => vector.size !== size);
  if (others.length > 0 && draw(3) === 0) return swizzled(at, others[draw(others.length)]!, size);
  if (depth === 0 || draw(3) === 0) return drawConstruction(at, scalar, size, depth);
  switch (draw(4)) {
    case 0:
      return swizzled(at, drawVector(at, scalar, 2 + draw(3), depth - 1), size);
    case 1: {
      const [name, whole] = [unary[draw(unary.length)]!, drawVector(at, scalar, size, depth - 1)];
      return { kind: 'byComponent', size, name, operands: [whole] };
    }
    case 2: {
      const operands = [drawVector(at, scalar, size, depth - 1), drawVector(at, scalar, size, depth - 1)];
      const condition = draw(2) === 0 ? [scalar(at, 'bool', depth - 1)] : [];
      const name = condition.length > 0 ? 'select' : extremes[draw(2)]!;
      return { kind: 'byComponent', size, name, operands: [...operands, ...condition] };
    }
    default: {
      const whole = drawVector(at, scalar, size, depth - 1);
      const other = draw(2) === 0 ? drawVector(at, scalar, size, depth - 1) : scalar(at, 'f32', depth - 1);
      const operands = draw(2) === 0 ? [whole, other] : [other, whole];
      return { kind: 'byComponent', size, name: arithmetic[draw(4)]!, operands };
    }
  }
}

function swizzled({ draw }: Place, vector: VectorName | SketchVector, size: number): SketchVector {
  const whole: SketchVector = 'kind' in vector ? vector : { kind: 'vector', name: vector.name, size: vector.size };
  return { kind: 'swizzle', size, vector: whole, at: Array.from({ length: size }, () => draw(vector.size)) };
}

function drawConstruction<P extends Place>(at: P, scalar: DrawScalar<P>, size: number, depth: number): SketchVector {
  const { draw } = at;
  const inner = Math.max(0, depth - 1);
  if (draw(4) === 0) return { kind: 'construct', size, parts: [scalar(at, 'f32', inner)] };
  const parts: (SketchExpression | SketchVector)[] = [];
  for (let left = size; left > 0; ) {
    const length = left >= 2 && depth > 0 && draw(3) === 0 ? 2 + draw(left - 1) : 1;
    parts.push(length === 1 ? scalar(at, 'f32', inner) : drawVector(at, scalar, length, inner));
    left -= length;
  }
  return { kind: 'construct', size, parts };
}
