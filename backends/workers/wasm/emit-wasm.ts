import type { Storage } from '../../../primitives/contract/backend.ts';
import { FunctorError } from '../../../primitives/errors.ts';
import {
  entryOf,
  type Local,
  type Module,
  type Operand,
  type ScalarType,
  type Statement,
} from '../../../primitives/ir/ir.ts';
import { emitScalar } from './scalar-operations.ts';
import { type Code, type Label, valueTypeOf } from './wasm-code.ts';
import { op } from './wasm-encoder.ts';
import { f32, i32, type Scalar } from './wasm-expressions.ts';
import type { Int32Local, ScalarLocal } from './wasm-locals.ts';

/** A captured array as compiled code sees it. */
export interface ArrayAccess {
  readonly storage: Storage;
  /** Local that holds the byte address of element 0. */
  readonly address: Int32Local;
  /** Local that holds the number of elements. */
  readonly length: Int32Local;
}

/** What a module's arrays and uniforms are in the function under way. */
export interface Environment {
  readonly module: Module;
  readonly arrays: ReadonlyMap<string, ArrayAccess>;
  /** Locals that hold the uniforms. */
  readonly uniforms: ReadonlyMap<string, ScalarLocal>;
}

/** The function that is being inlined. */
interface Frame {
  readonly environment: Environment;
  readonly locals: Map<number, ScalarLocal>;
  readonly owned: ScalarLocal[];
  readonly results: readonly ScalarLocal[];
  readonly exit: Label;
  readonly loops: { readonly exit: Label; readonly next: Label }[];
}

/**
 * Inlines the entry of a module, as structured code with every branch and loop kept. Arguments are locals that the entry
 * does not change; the returned locals hold its results and are the caller's to release.
 */
export function inlineEntry(code: Code, environment: Environment, args: readonly ScalarLocal[]): ScalarLocal[] {
  requireInlinable(environment.module);
  return inline(code, environment, entryOf(environment.module).name, args);
}

/** More statements than V8 has room for in a function of WebAssembly, 7.6 MB, however short each is. */
const MAX_INLINED = 2 ** 21;

/** Helpers that call each other twice grow without bound when they are inlined: this is found out before it is done. */
function requireInlinable({ functions }: Module): void {
  const inlined = new Map<string, number>();
  const count = (block: readonly Statement[]): number =>
    block.reduce((sum, statement) => sum + 1 + inside(statement), 0);
  const inside = (statement: Statement): number => {
    if (statement.kind === 'call') return inlined.get(statement.callee)!;
    if (statement.kind === 'if') return count(statement.consequent) + count(statement.alternative);
    return statement.kind === 'loop' ? count(statement.body) + count(statement.step) : 0;
  };
  // Callees stand before their callers.
  for (const { name, body } of functions) inlined.set(name, count(body));
  const max = Math.max(...inlined.values());
  if (max <= MAX_INLINED) return;
  throw new FunctorError('functor/webassembly', 'A functor has too many operations with those that it calls.', {
    expected: `at most ${MAX_INLINED} operations, all calls inlined`,
    got: max,
    remedy: 'Call helpers in a loop, or store results of helpers in columns.',
  });
}

function inline(code: Code, environment: Environment, name: string, args: readonly ScalarLocal[]): ScalarLocal[] {
  const fn = environment.module.functions.find((candidate) => candidate.name === name)!;
  const results = fn.results.map((type) => code.local(valueTypeOf(type)));
  const exit = code.block();
  const locals = new Map(fn.parameters.map(({ id }, i) => [id, args[i]!]));
  const frame: Frame = { environment, locals, owned: [], results, exit, loops: [] };
  emitStatements(code, frame, fn.body, true);
  code.end();
  for (const local of frame.owned) code.release(local);
  return results;
}

/** `last` says that nothing of the function follows these statements. */
function emitStatements(code: Code, frame: Frame, statements: readonly Statement[], last: boolean): void {
  statements.forEach((statement, i) => {
    emitStatement(code, frame, statement, last && i === statements.length - 1);
  });
}

function emitStatement(code: Code, frame: Frame, statement: Statement, last: boolean): void {
  switch (statement.kind) {
    case 'let': {
      const { name, operands } = statement.operation;
      const pushes = operands.map((operand) => () => push(code, frame, operand));
      emitScalar(code, name, operands[0]!.type, statement.local.type, pushes);
      code.set(declare(code, frame, statement.local));
      return;
    }
    case 'read': {
      const array = frame.environment.arrays.get(statement.array)!;
      emitRead(code, array, statement.local.type, () => push(code, frame, statement.index));
      code.set(declare(code, frame, statement.local));
      return;
    }
    case 'length':
      code.get(frame.environment.arrays.get(statement.array)!.length);
      code.set(declare(code, frame, statement.local));
      return;
    case 'var':
      push(code, frame, statement.value);
      code.set(declare(code, frame, statement.local));
      return;
    case 'set':
      push(code, frame, statement.value);
      code.set(frame.locals.get(statement.local.id)!);
      return;
    case 'call':
      emitCall(code, frame, statement);
      return;
    case 'if':
      emitIf(code, frame, statement, last);
      return;
    case 'loop':
      emitLoop(code, frame, statement);
      return;
    case 'break':
      code.br(frame.loops.at(-1)!.exit);
      return;
    case 'continue':
      code.br(frame.loops.at(-1)!.next);
      return;
    case 'return':
      statement.values.forEach((value, i) => {
        push(code, frame, value);
        code.set(frame.results[i]!);
      });
      if (!last) code.br(frame.exit);
  }
}

function emitCall(code: Code, frame: Frame, { callee, args, results }: Extract<Statement, { kind: 'call' }>): void {
  const temporary: ScalarLocal[] = [];
  const locals = args.map((arg) => {
    if (arg.kind === 'local') return frame.locals.get(arg.id)!;
    const local = code.local(valueTypeOf(arg.type));
    temporary.push(local);
    push(code, frame, arg);
    code.set(local);
    return local;
  });
  const returned = inline(code, frame.environment, callee, locals);
  for (const local of temporary) code.release(local);
  results.forEach((result, i) => {
    frame.locals.set(result.id, returned[i]!);
  });
  frame.owned.push(...returned);
}

function emitIf(code: Code, frame: Frame, statement: Extract<Statement, { kind: 'if' }>, last: boolean): void {
  push(code, frame, statement.condition);
  code.if();
  emitStatements(code, frame, statement.consequent, last);
  if (statement.alternative.length > 0) {
    code.else();
    emitStatements(code, frame, statement.alternative, last);
  }
  code.end();
}

function emitLoop(code: Code, frame: Frame, { body, step }: Extract<Statement, { kind: 'loop' }>): void {
  const exit = code.block();
  const again = code.loop();
  const next = code.block();
  frame.loops.push({ exit, next });
  emitStatements(code, frame, body, false);
  code.end();
  frame.loops.pop();
  emitStatements(code, frame, step, false);
  code.br(again);
  code.end();
  code.end();
}

/** Leaves element `index` on the stack; zero where it is not below the length. */
export function emitRead(code: Code, array: ArrayAccess, type: ScalarType, index: () => void): void {
  index();
  code.get(array.length);
  code.op(op.i32LtU);
  code.if(valueTypeOf(type));
  emitLoad(code, array, type, index);
  code.else();
  if (type === 'f32') code.f32(0);
  else code.i32(0);
  code.end();
}

const widths: Readonly<Record<Storage, number>> = { u32: 2, i32: 2, f32: 2, u16: 1, i16: 1, u8: 0, i8: 0 };
const narrowLoads: Partial<Record<Storage, number>> = {
  u16: op.i32Load16U,
  i16: op.i32Load16S,
  u8: op.i32Load8U,
  i8: op.i32Load8S,
};

/** Base-2 logarithm of the bytes of an element. */
export function widthOf(storage: Storage): number {
  return widths[storage];
}

/** Leaves element `index`, which is in range, on the stack. */
function emitLoad(code: Code, { storage, address }: ArrayAccess, type: ScalarType, index: () => void): void {
  code.get(address);
  index();
  if (widthOf(storage) > 0) {
    code.i32(widthOf(storage));
    code.op(op.i32Shl);
  }
  code.op(op.i32Add);
  emitLoadFrom(code, storage, type, 0);
}

/** Leaves the element whose address, less `offset`, is on the stack there instead. */
export function emitLoadFrom(code: Code, storage: Storage, type: ScalarType, offset: number): void {
  code.memory(type === 'f32' ? op.f32Load : (narrowLoads[storage] ?? op.i32Load), offset);
  if (type === 'bool') {
    code.i32(0);
    code.op(op.i32Ne);
  }
}

function declare(code: Code, frame: Frame, { id, type }: Local): ScalarLocal {
  const local = code.local(valueTypeOf(type));
  frame.locals.set(id, local);
  frame.owned.push(local);
  return local;
}

function push(code: Code, frame: Frame, operand: Operand): void {
  if (operand.kind === 'literal') pushLiteral(code, operand.type, operand.value);
  else
    code.get(operand.kind === 'local' ? frame.locals.get(operand.id)! : frame.environment.uniforms.get(operand.name)!);
}

export function pushLiteral(code: Code, type: ScalarType, value: number | boolean): void {
  if (type === 'f32') code.f32(value as number);
  else code.i32(Number(value));
}

export function literal(type: ScalarType, value: number | boolean): Scalar {
  return type === 'f32' ? f32(value as number) : i32(Number(value));
}

/** A local of the type of a scalar. */
export function scalarLocal(code: Code, type: ScalarType): ScalarLocal {
  return code.local(valueTypeOf(type));
}
