export type {
  IrFunction,
  Literal,
  Local,
  Module,
  Operand,
  Operation,
  OperationName,
  ScalarType,
  Statement,
  Uniform,
} from '../ir/ir.ts';
export { Break, Continue, For, If, Let, type Otherwise, type Range, Return, Var, While } from './control.ts';
export {
  type ArgumentsOf,
  type ArrayParameter,
  array,
  bool,
  type CallArguments,
  type Functor,
  type FunctorDescription,
  type FunctorOptions,
  f32,
  fn,
  i32,
  isFunctor,
  type Parameter,
  type Parameters,
  type UniformParameter,
  u32,
  u64,
  uniform,
} from './functor.ts';
export {
  LocalArray,
  type LocalArrayOf,
  type LocalIndex,
  type LocalRecords,
  type LocalValues,
  type ReadOf,
} from './local-arrays.ts';
export { Neighbours, NeighboursParameter, neighbours } from './neighbours.ts';

export { type OwnedParameter, type OwnedValue, owned } from './owned.ts';
export type { Records, RecordsParameter } from './records.ts';

export type { InputsOf, PlainOf, Scalar, Shape, Tree, ValuesOf } from './shapes.ts';
export * from './standard/index.ts';
export { type TextOptions, wgsl } from './text/wgsl.ts';
export type { ArrayValue, Bool, F32, I32, Input, U32, Value, Variable } from './value.ts';
export type { InputsFor, RecordOfValues, VariableOf, VariablesOf } from './variables.ts';
