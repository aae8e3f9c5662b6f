import type { Code, Label } from './wasm-code.ts';
import { atomic, extended, F32, I32, op, simd, unsigned, type ValueType } from './wasm-encoder.ts';
import {
  atomicResult,
  type Int32,
  type Int64,
  memoryInstruction,
  operand,
  type Value,
  Vector,
  vectorMemoryInstruction,
} from './wasm-expressions.ts';
import type { Int32Local } from './wasm-locals.ts';

/** Statements of WebAssembly: bodies write what is inside a block, and conditions are expressions. */

/** Runs the body where the condition is not zero. */
export function when(code: Code, condition: Int32, body: () => void, otherwise?: () => void): void {
  code.push(condition);
  code.if();
  body();
  if (otherwise !== undefined) {
    code.else();
    otherwise();
  }
  code.end();
}

/** Repeats the body as long as the condition, which is tested first, is not zero. */
export function whileTrue(code: Code, condition: Int32, body: () => void): void {
  block(code, (done) =>
    loop(code, (again) => {
      brIf(code, done, condition.isZero());
      body();
      br(code, again);
    }),
  );
}

/** Runs the body, and again as long as the condition is not zero. */
export function doWhile(code: Code, body: () => void, condition: Int32): void {
  loop(code, (again) => {
    body();
    brIf(code, again, condition);
  });
}

/** Counts a local from 0 up to the end, which is left out. */
export function forRange(code: Code, end: Int32, body: (index: Int32Local) => void): void {
  const index = code.local(I32);
  index.set(0);
  whileTrue(code, index.ltU(end), () => {
    body(index);
    index.set(index.add(1));
  });
  code.release(index);
}

/** Rounds from the index to the end. The test is at the end of a round, so that a round has one branch. */
export function forRounds(code: Code, index: Int32Local, end: Int32, step: number, round: () => void): void {
  const more = index.ltU(end);
  when(code, more, () =>
    doWhile(
      code,
      () => {
        round();
        index.set(index.add(step));
      },
      more,
    ),
  );
}

/** A block, behind which its label leads. */
export function block(code: Code, body: (end: Label) => void): void {
  body(code.block());
  code.end();
}

/** A loop, to the beginning of which its label leads. */
export function loop(code: Code, body: (again: Label) => void): void {
  body(code.loop());
  code.end();
}

export function br(code: Code, label: Label): void {
  code.br(label);
}

export function brIf(code: Code, label: Label, condition: Int32): void {
  code.push(condition);
  code.brIf(label);
}

/** Leaves a function without results. */
export function leave(code: Code): void {
  code.write(op.return);
}

/** Calls a function of the same module that has no result. */
export function call(code: Code, index: number, args: readonly Int32[]): void {
  for (const arg of args) code.push(arg);
  code.write(0x10, ...unsigned(index));
}

/** Lowers a local to an unsigned value where that is less. */
export function lower(code: Code, local: Int32Local, to: Int32 | number): void {
  const other = code.local(I32);
  other.set(to);
  local.set(local.ltU(other).select(local, other));
  code.release(other);
}

/** Raises a local to an unsigned value where that is more. */
export function raise(code: Code, local: Int32Local, to: Int32 | number): void {
  const other = code.local(I32);
  other.set(to);
  local.set(local.gtU(other).select(local, other));
  code.release(other);
}

/** Exchanges what two locals hold. */
export function swap(code: Code, a: Int32Local, b: Int32Local): void {
  code.push(a);
  a.set(b);
  code.set(b);
}

const STORES: { readonly [type in ValueType]?: number } = { [I32]: op.i32Store, [F32]: op.f32Store };

/** Stores a scalar or a vector `offset` bytes behind an address. */
export function store(code: Code, address: Int32, value: Value | number, offset = 0): void {
  const stored = operand(value);
  code.push(address);
  code.push(stored);
  if (stored instanceof Vector) code.write(...vectorMemoryInstruction(simd.store, offset));
  else code.write(...memoryInstruction(STORES[stored.type]!, offset));
}

export function fillMemory(code: Code, address: Int32, byte: number, bytes: Int32 | number): void {
  for (const value of [address, operand(byte), operand(bytes)]) code.push(value);
  code.write(0xfc, extended.memoryFill, 0);
}

export function copyMemory(code: Code, to: Int32, from: Int32, bytes: Int32): void {
  for (const value of [to, from, bytes]) code.push(value);
  code.write(0xfc, extended.memoryCopy, 0, 0);
}

/** Adds to an aligned word in one step. */
export function atomicAdd(code: Code, address: Int32, value: Int32): void {
  drop(code, atomicResult(atomic.i32Add, address, value));
}

/** Adds to an aligned pair of words, `offset` bytes behind an address, in one step. */
export function atomicAdd64(code: Code, address: Int32, value: Int64, offset: number): void {
  code.push(address);
  code.push(value);
  code.write(0xfe, atomic.i64Add, 3, ...unsigned(offset), op.drop);
}

/** An atomic store to an aligned word. */
export function atomicStore(code: Code, address: Int32, value: number): void {
  code.push(address);
  code.push(operand(value));
  code.write(0xfe, atomic.i32Store, 2, 0);
}

/** Wakes all threads that wait on an address. */
export function notifyAll(code: Code, address: Int32): void {
  drop(code, atomicResult(atomic.notify, address, operand(-1)));
}

/** Computes a value for what happens on the way. */
export function drop(code: Code, value: Value): void {
  code.push(value);
  code.write(op.drop);
}
