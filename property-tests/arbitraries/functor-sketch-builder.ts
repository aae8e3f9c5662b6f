import { Break, Continue, For, If, Let, Return, Var, While } from '../../primitives/functors/control.ts';
import {
  array,
  bool,
  type Functor,
  f32,
  fn,
  i32,
  type Parameters,
  u32,
  uniform,
} from '../../primitives/functors/functor.ts';
import { LocalArray, type LocalValues } from '../../primitives/functors/local-arrays.ts';
import { operate, use } from '../../primitives/functors/recorder.ts';
import type { Scalar, Shape } from '../../primitives/functors/shapes.ts';
import { byComponent, dot } from '../../primitives/functors/standard/vectors.ts';
import {
  type ArrayValue,
  type Bool,
  type F32,
  type U32,
  Value,
  type Variable,
} from '../../primitives/functors/value.ts';
import type { VariablesOf } from '../../primitives/functors/variables.ts';
import type { ScalarType } from '../../primitives/ir/ir.ts';
import {
  isVector,
  type Sketch,
  type SketchExpression,
  type SketchFunction,
  type SketchStatement,
  type SketchVector,
} from './functor-sketch.ts';

const scalars: { readonly [T in ScalarType]: Scalar<T> } = { u32, i32, f32, bool };
type AnyValue = Value<ScalarType>;
type AnyFunctor = Functor<Parameters, { readonly [name: string]: Scalar<ScalarType> }>;

/**
 * Builds the functor of a sketch (a random program) with the functor builder. The resulting functor is the sketch's
 * entry function, and returns a record r0, r1 ….
 */
export function functorOfSketch(sketch: Sketch): AnyFunctor {
  const functors = new Map<string, AnyFunctor>();
  for (const own of sketch.functions) functors.set(own.name, writeFunctor(sketch, functors, own));
  return functors.get('entry')!;
}

interface Writer {
  readonly functors: ReadonlyMap<string, AnyFunctor>;
  readonly captures: Readonly<Record<string, unknown>>;
  readonly values: ReadonlyMap<string, AnyValue>;
  readonly arrays: ReadonlyMap<string, LocalValues<ScalarType>>;
  readonly vectors: ReadonlyMap<string, Vector>;
}

/** The components of a vector, by the names x, y, z and w. */
type Vector = Readonly<Record<string, F32>>;

const vectorOf = (components: readonly F32[]): Vector =>
  Object.fromEntries(components.map((component, at) => ['xyzw'[at]!, component]));

function writeFunctor(sketch: Sketch, functors: ReadonlyMap<string, AnyFunctor>, own: SketchFunction): AnyFunctor {
  const parameters: Record<string, Shape> = {};
  for (const { name, type } of own.parameters) parameters[name] = scalars[type];
  const captures = {
    ...Object.fromEntries(sketch.arrays.map(({ name, type }) => [name, array(scalars[type])])),
    ...Object.fromEntries(sketch.uniforms.map(({ name, type }) => [name, uniform(scalars[type])])),
  };
  const result = Object.fromEntries(own.results.map((type, i) => [`r${i}`, scalars[type]]));
  return fn(own.name, { ...parameters, ...captures } as Parameters, result, (args) => {
    const given = args as Record<string, AnyValue>;
    const values = new Map(own.parameters.map(({ name }) => [name, given[name]!]));
    writeStatements({ functors, captures: args, values, arrays: new Map(), vectors: new Map() }, own.body);
  }) as AnyFunctor;
}

function writeStatements(outer: Writer, statements: readonly SketchStatement[]): void {
  let writer = outer;
  for (const statement of statements) {
    if (statement.kind === 'let' || statement.kind === 'var') {
      const value = write(writer, statement.value);
      const bound = statement.kind === 'let' ? Let(value) : Var(value);
      writer = { ...writer, values: new Map([...writer.values, [statement.name, bound]]) };
    } else if (statement.kind === 'array') {
      const declared = LocalArray(statement.length, write(writer, statement.value));
      writer = { ...writer, arrays: new Map([...writer.arrays, [statement.name, declared]]) };
    } else if (statement.kind === 'letVector' || statement.kind === 'varVector') {
      const value = writeVector(writer, statement.value);
      const bound: Vector = statement.kind === 'letVector' ? byComponent((x) => Let(x), value) : Var<Vector>(value);
      writer = { ...writer, vectors: new Map([...writer.vectors, [statement.name, bound]]) };
    } else {
      writeStatement(writer, statement);
    }
  }
}

function writeStatement(
  writer: Writer,
  statement: Exclude<SketchStatement, { kind: 'let' | 'var' | 'array' | 'letVector' | 'varVector' }>,
): void {
  const inside = (body: readonly SketchStatement[]) => (): void => writeStatements(writer, body);
  switch (statement.kind) {
    case 'set':
      (writer.values.get(statement.name) as Variable<ScalarType>).set(write(writer, statement.value));
      break;
    case 'setVector':
      (writer.vectors.get(statement.name) as VariablesOf<Vector>).set(writeVector(writer, statement.value));
      break;
    case 'setComponent': {
      const component = writer.vectors.get(statement.name)!['xyzw'[statement.at]!];
      (component as Variable<'f32'>).set(write(writer, statement.value) as F32);
      break;
    }
    case 'write': {
      const index = write(writer, statement.index) as U32;
      writer.arrays.get(statement.array)!.set(index, write(writer, statement.value));
      break;
    }
    case 'if': {
      const otherwise = If(write(writer, statement.condition) as Bool, inside(statement.consequent));
      if (statement.alternative.length > 0) otherwise.Else(inside(statement.alternative));
      break;
    }
    case 'for':
      For(write(writer, statement.from) as U32, write(writer, statement.to) as U32, (index) => {
        writeStatements({ ...writer, values: new Map([...writer.values, [statement.name, index]]) }, statement.body);
      });
      break;
    case 'while':
      While(() => write(writer, statement.condition) as Bool, inside(statement.body));
      break;
    case 'return':
      Return(Object.fromEntries(statement.values.map((value, i) => [`r${i}`, write(writer, value)])));
      break;
    default:
      (statement.kind === 'break' ? Break : Continue)();
  }
}

function write(writer: Writer, expression: SketchExpression): AnyValue {
  const { functors, captures, values } = writer;
  switch (expression.kind) {
    case 'literal':
      return scalars[expression.type](expression.value) as AnyValue;
    case 'name':
      return values.get(expression.name)!;
    case 'uniform':
      return captures[expression.name] as AnyValue;
    case 'length':
      return (captures[expression.array] as ArrayValue<ScalarType>).length();
    case 'element':
      return (captures[expression.array] as ArrayValue<ScalarType>).at(write(writer, expression.index) as U32);
    case 'local':
      return writer.arrays.get(expression.array)!.at(write(writer, expression.index) as U32);
    case 'operation': {
      const operands = expression.operands.map((operand) => write(writer, operand).operand);
      return new Value(use(operate(expression.name, operands, expression.type)));
    }
    case 'component':
      return writeVector(writer, expression.vector)['xyzw'[expression.at]!]!;
    case 'dot': {
      const [a, b] = expression.operands;
      return dot(writeVector(writer, a), writeVector(writer, b));
    }
    case 'call': {
      const functor = functors.get(expression.callee)!;
      const args = Object.keys(functor.parameters).map((name, i) => {
        const arg = expression.args[i];
        return [name, arg === undefined ? captures[name] : write(writer, arg)];
      });
      return functor(Object.fromEntries(args))[`r${expression.result}`] as AnyValue;
    }
  }
}

function writeVector(writer: Writer, vector: SketchVector): Vector {
  switch (vector.kind) {
    case 'vector':
      return writer.vectors.get(vector.name)!;
    case 'construct': {
      const parts = vector.parts.flatMap((part) => {
        return isVector(part) ? Object.values(writeVector(writer, part)) : [write(writer, part) as F32];
      });
      return parts.length === 1 ? splat(parts[0]!, vector.size) : vectorOf(parts);
    }
    case 'swizzle': {
      const whole = writeVector(writer, vector.vector);
      return vectorOf(vector.at.map((at) => whole['xyzw'[at]!]!));
    }
    case 'byComponent': {
      const condition = vector.name === 'select' ? [write(writer, vector.operands[2] as SketchExpression)] : [];
      const [a, b] = vector.operands.slice(0, 3 - condition.length).map((operand) => {
        return isVector(operand) ? writeVector(writer, operand) : splat(write(writer, operand) as F32, vector.size);
      });
      const apply = (...numbers: readonly Value<ScalarType>[]): F32 =>
        new Value(
          use(
            operate(
              vector.name,
              [...numbers, ...condition].map(({ operand }) => operand),
              'f32',
            ),
          ),
        );
      return b === undefined ? byComponent((x) => apply(x), a!) : byComponent((x, y) => apply(x, y), a!, b);
    }
  }
}

const splat = (value: F32, size: number): Vector => vectorOf(Array<F32>(size).fill(value));
