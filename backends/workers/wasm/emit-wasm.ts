import { FunctorError } from '../../../primitives/checks/errors.ts';
import type { Storage } from '../../../primitives/contract/backend.ts';
import { largestOf } from '../../../primitives/host/extremes.ts';
import {
  entryOf,
  type Local,
  type Module,
  type Operand,
  type ScalarType,
  type Statement,
} from '../../../primitives/ir/ir.ts';
import {
  declareArray,
  type FrameArray,
  type FrameMemory,
  fillArray,
  readPlace,
  withFrame,
  writePlace,
} from './local-arrays.ts';
import { scalarOperation } from './scalar-operations.ts';
import { emitStripFill, stripFillOf } from './strip-fills.ts';
import { type Code, type Label, valueTypeOf } from './wasm-code.ts';
import { op } from './wasm-encoder.ts';
import { choose, f32, type Int32, i32, load, loadF32, loadingInt32, type Scalar } from './wasm-expressions.ts';
import { assign, type Int32Local, type ScalarLocal } from './wasm-locals.ts';
import { block, br, loop, store, when } from './wasm-statements.ts';

/** The locals with the address and length of an array that a functor captures. */
export interface ArrayAccess {
  readonly storage: Storage;
  /** Local with the byte address of element 0. */
  readonly address: Int32Local;
  /** Local with the number of elements. */
  readonly length: Int32Local;
}

/** The locals that hold the arrays and uniforms of a module in the current WebAssembly function. */
export interface Environment {
  readonly module: Module;
  readonly arrays: ReadonlyMap<string, ArrayAccess>;
  /** Locals with the values of the uniforms, by name. */
  readonly uniforms: ReadonlyMap<string, ScalarLocal>;
  /** Only of a strip: locals with its first row and the number of its rows. */
  readonly strip?: { readonly first: Int32Local; readonly rows: Int32Local };
}

/** The state of the emitter while it inlines one function of a module. */
interface Frame {
  readonly environment: Environment;
  readonly locals: Map<number, ScalarLocal>;
  readonly owned: ScalarLocal[];
  readonly results: readonly ScalarLocal[];
  /** The arrays of the function, by id. */
  readonly arrays: Map<number, FrameArray>;
  /** The memory for local arrays; undefined if the module has none. */
  readonly memory: FrameMemory | undefined;
  readonly exit: Label;
  readonly loops: { readonly exit: Label; readonly next: Label }[];
}

/**
 * Inlines the entry of a module as scalar code with its branches and loops. The code does not change the locals in
 * `args`. Returns new locals with the results; the caller must release them.
 */
export function inlineEntry(code: Code, environment: Environment, args: readonly ScalarLocal[]): ScalarLocal[] {
  requireInlinable(environment.module);
  return withFrame(code, environment.module, (memory) =>
    inline(code, environment, entryOf(environment.module).name, args, memory),
  );
}

/**
 * Maximum number of inlined statements. With more statements, a function would exceed V8's limit of 7.6 MB per
 * WebAssembly function, even if each statement is short.
 */
const MAX_INLINED = 2 ** 21;

/**
 * Throws if a module has too many statements after inlining. The statements are counted in advance, because nested
 * calls can make the code grow exponentially.
 */
function requireInlinable({ functions }: Module): void {
  const inlined = new Map<string, number>();
  const count = (block: readonly Statement[]): number =>
    block.reduce((sum, statement) => sum + 1 + inside(statement), 0);
  const inside = (statement: Statement): number => {
    if (statement.kind === 'call') return inlined.get(statement.callee)!;
    if (statement.kind === 'if') return count(statement.consequent) + count(statement.alternative);
    return statement.kind === 'loop' ? count(statement.body) + count(statement.step) : 0;
  };
  // Functions are listed before their callers, so the count of each callee is known.
  for (const { name, body } of functions) inlined.set(name, count(body));
  const max = largestOf(inlined.values());
  if (max <= MAX_INLINED) return;
  throw new FunctorError('functor/webassembly', 'A functor and the functors that it calls have too many operations.', {
    expected: `at most ${MAX_INLINED} operations, all calls inlined`,
    got: max,
    remedy: 'Call helpers in a loop, or store results of helpers in columns.',
  });
}

function inline(
  code: Code,
  environment: Environment,
  name: string,
  args: readonly ScalarLocal[],
  memory: FrameMemory | undefined,
): ScalarLocal[] {
  const fn = environment.module.functions.find((candidate) => candidate.name === name)!;
  const results = fn.results.map((type) => code.local(valueTypeOf(type)));
  const locals = new Map(fn.parameters.map(({ id }, i) => [id, args[i]!]));
  const owned: ScalarLocal[] = [];
  const top = memory?.top;
  block(code, (exit) => {
    const frame = { environment, locals, owned, results, arrays: new Map(), memory, exit, loops: [] };
    emitStatements(code, frame, fn.body, true);
  });
  if (memory !== undefined) memory.top = top!;
  for (const local of owned) code.release(local);
  return results;
}

/**
 * Emits statements. `last` says that these are the last statements of their function, so that a `return` at the end of
 * the list needs no branch.
 */
function emitStatements(code: Code, frame: Frame, statements: readonly Statement[], last: boolean): void {
  statements.forEach((statement, i) => {
    emitStatement(code, frame, statement, last && i === statements.length - 1);
  });
}

function emitStatement(code: Code, frame: Frame, statement: Statement, last: boolean): void {
  switch (statement.kind) {
    case 'let': {
      const { name, operands } = statement.operation;
      const values = operands.map((operand) => operandValue(frame, operand));
      keep(code, frame, statement.local, scalarOperation(code, name, operands[0]!.type, statement.local.type, values));
      return;
    }
    case 'read': {
      const array = frame.environment.arrays.get(statement.array)!;
      keep(code, frame, statement.local, elementOf(array, statement.local.type, integerOf(frame, statement.index)));
      return;
    }
    case 'readOwned': {
      const { array, owns, index } = ownedElement(frame, statement);
      const { type } = statement.local;
      const { storage, address } = array;
      const element = loadElement(storage, type, elementAt(storage, address, index));
      keep(code, frame, statement.local, choose<Scalar>(owns, element, literal(type, 0)));
      return;
    }
    case 'writeOwned': {
      const { array, owns, index } = ownedElement(frame, statement);
      const { storage, address } = array;
      when(code, owns, () => store(code, elementAt(storage, address, index), operandValue(frame, statement.value)));
      return;
    }
    case 'length':
      keep(code, frame, statement.local, frame.environment.arrays.get(statement.array)!.length);
      return;
    case 'var':
      keep(code, frame, statement.local, operandValue(frame, statement.value));
      return;
    case 'set':
      assign(frame.locals.get(statement.local.id)!, operandValue(frame, statement.value));
      return;
    case 'localArray': {
      const array = declareArray(frame.memory!, statement.localArray, WORD_BYTES);
      frame.arrays.set(statement.localArray.id, array);
      fillArray(code, array, operandValue(frame, statement.value), i32(0));
      return;
    }
    case 'readLocal': {
      const { local, localArray, index } = statement;
      const { address, offset } = readPlace(frame.arrays.get(localArray.id)!, placeIn(frame, index));
      keep(code, frame, local, local.type === 'f32' ? loadF32(address, offset) : load(address, offset));
      return;
    }
    case 'writeLocal': {
      const { localArray, index, value } = statement;
      const { address, offset } = writePlace(frame.arrays.get(localArray.id)!, placeIn(frame, index));
      store(code, address, operandValue(frame, value), offset);
      return;
    }
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
      br(code, frame.loops.at(-1)!.exit);
      return;
    case 'continue':
      br(code, frame.loops.at(-1)!.next);
      return;
    case 'return':
      for (const [i, value] of statement.values.entries()) assign(frame.results[i]!, operandValue(frame, value));
      if (!last) br(code, frame.exit);
  }
}

function emitCall(code: Code, frame: Frame, { callee, args, results }: Extract<Statement, { kind: 'call' }>): void {
  const temporary: ScalarLocal[] = [];
  const locals = args.map((arg) => {
    if (arg.kind === 'local') return frame.locals.get(arg.id)!;
    const local = code.local(valueTypeOf(arg.type));
    temporary.push(local);
    assign(local, operandValue(frame, arg));
    return local;
  });
  const returned = inline(code, frame.environment, callee, locals, frame.memory);
  for (const local of temporary) code.release(local);
  results.forEach((result, i) => {
    frame.locals.set(result.id, returned[i]!);
  });
  frame.owned.push(...returned);
}

function emitIf(code: Code, frame: Frame, statement: Extract<Statement, { kind: 'if' }>, last: boolean): void {
  const { condition, consequent, alternative } = statement;
  const otherwise = (): void => emitStatements(code, frame, alternative, last);
  when(
    code,
    integerOf(frame, condition),
    () => emitStatements(code, frame, consequent, last),
    alternative.length > 0 ? otherwise : undefined,
  );
}

function emitLoop(code: Code, frame: Frame, statement: Extract<Statement, { kind: 'loop' }>): void {
  const fill = stripFillOf(statement);
  if (fill !== undefined) {
    const { arrays, strip } = frame.environment;
    const index = frame.locals.get(fill.index.id) as Int32Local;
    const value = operandValue(frame, fill.value);
    emitStripFill(code, arrays.get(fill.array)!.address, strip!, index, integerOf(frame, fill.end), value);
    return;
  }
  const { body, step } = statement;
  block(code, (exit) =>
    loop(code, (again) => {
      block(code, (next) => {
        frame.loops.push({ exit, next });
        emitStatements(code, frame, body, false);
      });
      frame.loops.pop();
      emitStatements(code, frame, step, false);
      br(code, again);
    }),
  );
}

/** An element of an owned array, and whether the strip owns it. Rows before the strip wrap around to large numbers. */
function ownedElement(
  frame: Frame,
  { array, index }: { readonly array: string; readonly index: Operand },
): { readonly array: ArrayAccess; readonly owns: Int32; readonly index: Int32 } {
  const { arrays, strip } = frame.environment;
  const place = integerOf(frame, index);
  return { array: arrays.get(array)!, owns: place.sub(strip!.first).ltU(strip!.rows), index: place };
}

/** Element `index` of an array, or 0 if the index is out of range. The code computes `index` twice. */
export function elementOf(array: ArrayAccess, type: ScalarType, index: Int32): Scalar {
  const { storage, address, length } = array;
  return choose<Scalar>(
    index.ltU(length),
    loadElement(storage, type, elementAt(storage, address, index)),
    literal(type, 0),
  );
}

const widths: Readonly<Record<Storage, number>> = { u32: 2, i32: 2, f32: 2, u16: 1, i16: 1, u8: 0, i8: 0 };
const narrowLoads: Partial<Record<Storage, number>> = {
  u16: op.i32Load16U,
  i16: op.i32Load16S,
  u8: op.i32Load8U,
  i8: op.i32Load8S,
};

/** The base-2 logarithm of an element's size in bytes. */
export function widthOf(storage: Storage): number {
  return widths[storage];
}

/** The address of element `index` of an array that starts at `address`. */
export function elementAt(storage: Storage, address: Int32, index: Int32): Int32 {
  const width = widthOf(storage);
  return address.add(width > 0 ? index.shl(width) : index);
}

/** Loads the element `offset` bytes after an address. */
export function loadElement(storage: Storage, type: ScalarType, address: Int32, offset = 0): Scalar {
  if (type === 'f32') return loadF32(address, offset);
  const word = loadingInt32(narrowLoads[storage] ?? op.i32Load, address, offset);
  return type === 'bool' ? word.ne(0) : word;
}

/** Stores the value of a functor's local in a new WebAssembly local, and records the new local in `frame`. */
function keep(code: Code, frame: Frame, { id, type }: Local, value: Scalar): void {
  code.push(value);
  const local = scalarLocal(code, type);
  code.set(local);
  frame.locals.set(id, local);
  frame.owned.push(local);
}

/** Bytes of an element of a local array in scalar code. */
const WORD_BYTES = 4;

/** The index of an element of a local array: a number if it is known. */
function placeIn(frame: Frame, index: Operand): Int32 | number {
  return index.kind === 'literal' ? Number(index.value) : integerOf(frame, index);
}

function operandValue(frame: Frame, operand: Operand): Scalar {
  if (operand.kind === 'literal') return literal(operand.type, operand.value);
  return operand.kind === 'local' ? frame.locals.get(operand.id)! : frame.environment.uniforms.get(operand.name)!;
}

/** The value of an operand of integer or bool type. */
function integerOf(frame: Frame, operand: Operand): Int32 {
  return operandValue(frame, operand) as Int32;
}

export function literal(type: ScalarType, value: number | boolean): Scalar {
  return type === 'f32' ? f32(value as number) : i32(Number(value));
}

/** Allocates a WebAssembly local for a scalar type of functors. */
export function scalarLocal(code: Code, type: ScalarType): ScalarLocal {
  return code.local(valueTypeOf(type));
}
