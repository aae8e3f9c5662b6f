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
import { type ArrayValue, type Bool, type U32, Value, type Variable } from '../../primitives/functors/value.ts';
import type { ScalarType } from '../../primitives/ir/ir.ts';
import type { Sketch, SketchExpression, SketchFunction, SketchStatement } from './functor-sketch.ts';

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
}

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
    writeStatements({ functors, captures: args, values, arrays: new Map() }, own.body);
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
    } else {
      writeStatement(writer, statement);
    }
  }
}

function writeStatement(writer: Writer, statement: Exclude<SketchStatement, { kind: 'let' | 'var' | 'array' }>): void {
  const inside = (body: readonly SketchStatement[]) => (): void => writeStatements(writer, body);
  switch (statement.kind) {
    case 'set':
      (writer.values.get(statement.name) as Variable<ScalarType>).set(write(writer, statement.value));
      break;
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
