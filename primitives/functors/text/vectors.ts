import type { FunctorError } from '../../checks/errors.ts';
import { coerceScalar } from './numbers.ts';
import { errorAt, type Position } from './source.ts';
import {
  type Argument,
  isAbstract,
  type ScalarValue,
  type Struct,
  type TextType,
  type TextValue,
  zeroOf,
} from './values.ts';

/** A vector of f32: a struct, so that it is passed, assigned and stored as any other. */
interface VectorType extends Struct {
  readonly fields: readonly { readonly name: string; readonly type: 'f32' }[];
}

export interface VectorValue {
  readonly type: VectorType;
  readonly fields: readonly ScalarValue[];
}

/** The letters of components, in two sets that a name of components must not mix. */
const LETTERS = ['xyzw', 'rgba'];

const vectors: readonly VectorType[] = [2, 3, 4].map((size) => ({
  name: `vec${size}f`,
  fields: [...LETTERS[0]!.slice(0, size)].map((name) => ({ name, type: 'f32' as const })),
}));

/** The types of vectors, by both names that WGSL has for each. */
export const VECTOR_TYPES: readonly (readonly [name: string, type: VectorType])[] = vectors.flatMap((type) => {
  return [[type.name, type] as const, [type.name.replace('f', '<f32>'), type] as const];
});

export function isVectorType(type: TextValue['type']): type is VectorType {
  return vectors.some((each) => each === type);
}

export function isVector(value: TextValue): value is VectorValue {
  return isVectorType(value.type);
}

/** The vector of components. There must be two to four. */
export function vectorOf(fields: readonly ScalarValue[]): VectorValue {
  return { type: vectors[fields.length - 2]!, fields };
}

/** One component of a vector; any other value as it is, since it stands for a vector of equal components. */
export function componentOf(value: TextValue, index: number): TextValue {
  return isVector(value) ? value.fields[index]! : value;
}

/** The components that are named by letters, such as `x`, `rgb` or `zyx`: a scalar, or a vector of several. */
export function componentsNamed(position: Position, { type, fields }: VectorValue, letters: string): TextValue {
  const named = componentIndices(position, type, letters).map((index) => fields[index]!);
  return named.length === 1 ? named[0]! : vectorOf(named);
}

/** The type of so many components: a scalar, or a vector of several. */
export function typeOfComponents(count: number): TextType {
  return count === 1 ? 'f32' : vectors[count - 2]!;
}

/** The indices of the components that are named by letters; throws if the vector lacks one. */
export function componentIndices(position: Position, { name, fields }: VectorType, letters: string): number[] {
  const set = LETTERS.find((each) => each.includes(letters[0]!)) ?? '';
  const indices = [...letters].map((letter) => set.indexOf(letter));
  if (indices.length <= 4 && indices.every((index) => index >= 0 && index < fields.length)) return indices;
  const [places, colours] = LETTERS.map((each) => each.slice(0, fields.length));
  throw errorAt(position, 'unresolved', `${name} has no component${letters.length === 1 ? '' : 's'} ${letters}.`, {
    expected: `one to four letters of ${places}, or of ${colours}`,
    got: letters,
  });
}

/** The vector type whose components `vec2(…)`, `vec3(…)` or `vec4(…)` name no type of; undefined for other names. */
export function openVectorNamed(name: string): VectorType | undefined {
  return vectors.find((type) => type.name === `${name}f`);
}

/** Requires an argument that gives the components of `vec2(…)` and the like a type. */
export function requireTyped(position: Position, { name }: VectorType, args: readonly Argument[]): void {
  if (args.some(({ value }) => !isAbstract(value))) return;
  throw errorAt(position, 'type', 'Numbers without a suffix give the components of a vector no type.', {
    remedy: `Write ${name}(…).`,
  });
}

/** Evaluates a constructor: of no arguments for zeros, of one scalar for equal components, or of all components. */
export function constructVector(position: Position, type: VectorType, args: readonly Argument[]): TextValue {
  if (args.length === 0) return zeroOf(type);
  const size = type.fields.length;
  const parts = args.flatMap(({ value, position: at }) =>
    isVector(value) ? value.fields : [coerceScalar(at, value, 'f32', `A component of ${type.name}`)],
  );
  const fields = parts.length === 1 ? Array<ScalarValue>(size).fill(parts[0]!) : parts;
  if (fields.length === size) return { type, fields };
  throw errorAt(position, 'arguments', `${type.name} is called with the wrong number of components.`, {
    expected: `${size}, or one for all`,
    got: fields.length,
    remedy: fields.length > size ? 'Name components of a longer vector, such as v.xy.' : undefined,
  });
}

/** The error for a vector or matrix type of WGSL that functors do not have; undefined for other names. */
export function lackingType(position: Position, name: string): FunctorError | undefined {
  if (/^mat[234]x[234](?:[fh]|<.*>)?$/.test(name)) {
    return errorAt(position, 'type', `Functors have no matrices, such as ${name}.`, {
      remedy: 'Use a vector for each column.',
    });
  }
  const vector = /^vec[234](?=(?:[iuh]|<.*>)?$)/.exec(name)?.[0];
  if (vector === undefined) return undefined;
  return errorAt(position, 'type', 'Functors have vectors of f32 only.', {
    expected: `${vector}f`,
    got: name,
    remedy: 'Use a struct for other types.',
  });
}
