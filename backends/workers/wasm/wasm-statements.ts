import type { Code, Label } from './wasm-code.ts';
import { atomic, extended, F32, I32, op, simd, unsigned } from './wasm-encoder.ts';
import {
  atomicResult,
  type Int32,
  type Int64,
  memoryInstruction,
  operand,
  type Scalar,
  type Value,
  Vector,
  vectorMemoryInstruction,
} from './wasm-expressions.ts';
import type { Int32Local } from './wasm-locals.ts';

/**
 * Statements of WebAssembly functions. Conditions are expressions. Bodies are callbacks that emit the statements of a
 * block.
 */

/** Runs `body` if the condition is not zero. Otherwise runs `otherwise`, if it is given. */
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

/** Repeats `body` while the condition is not zero. The condition is tested before each iteration. */
export function whileTrue(code: Code, condition: Int32, body: () => void): void {
  block(code, (done) =>
    loop(code, (again) => {
      brIf(code, done, condition.isZero());
      body();
      br(code, again);
    }),
  );
}

/** Runs `body` once, then repeats it while the condition is not zero. */
export function doWhile(code: Code, body: () => void, condition: Int32): void {
  loop(code, (again) => {
    body();
    brIf(code, again, condition);
  });
}

/** Runs `body` for every index from 0 to `end`, exclusive. */
export function forRange(code: Code, end: Int32, body: (index: Int32Local) => void): void {
  const index = code.local(I32);
  index.set(0);
  whileTrue(code, index.ltU(end), () => {
    body(index);
    index.set(index.add(1));
  });
  code.release(index);
}

/**
 * Repeats `round` while the index is below `end`, and adds `step` to the index after each round. The condition is
 * tested once before the loop and then at the end of each round, so that each round has a single branch.
 */
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

/** A block of statements. A branch to the label of the block leaves the block. */
export function block(code: Code, body: (end: Label) => void): void {
  body(code.block());
  code.end();
}

/**
 * A block of statements that can be repeated. A branch to the label starts the block again; without such a branch the
 * block ends.
 */
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

/** Returns from the current function, which must have no results. */
export function leave(code: Code): void {
  code.write(op.return);
}

/** Calls a function of the same module by its index. The function must not return results. */
export function call(code: Code, index: number, args: readonly Int32[]): void {
  for (const arg of args) code.push(arg);
  code.write(0x10, ...unsigned(index));
}

/** Lowers a local to at most `to`. Both are unsigned. */
export function lower(code: Code, local: Int32Local, to: Int32 | number): void {
  const other = code.local(I32);
  other.set(to);
  local.set(local.ltU(other).select(local, other));
  code.release(other);
}

/** Raises a local to at least `to`. Both are unsigned. */
export function raise(code: Code, local: Int32Local, to: Int32 | number): void {
  const other = code.local(I32);
  other.set(to);
  local.set(local.gtU(other).select(local, other));
  code.release(other);
}

export function swap(code: Code, a: Int32Local, b: Int32Local): void {
  code.push(a);
  a.set(b);
  code.set(b);
}

/** Stores an i32, f32 or vector `offset` bytes after an address. */
export function store(code: Code, address: Int32, value: Scalar | Vector | number, offset = 0): void {
  const stored = operand(value);
  code.push(address);
  code.push(stored);
  if (stored instanceof Vector) code.write(...vectorMemoryInstruction(simd.store, offset));
  else code.write(...memoryInstruction(stored.type === F32 ? op.f32Store : op.i32Store, offset));
}

export function fillMemory(code: Code, address: Int32, byte: number, bytes: Int32 | number): void {
  for (const value of [address, operand(byte), operand(bytes)]) code.push(value);
  code.write(0xfc, extended.memoryFill, 0);
}

export function copyMemory(code: Code, to: Int32, from: Int32, bytes: Int32): void {
  for (const value of [to, from, bytes]) code.push(value);
  code.write(0xfc, extended.memoryCopy, 0, 0);
}

/** Adds `value` to an aligned 32-bit word atomically. */
export function atomicAdd(code: Code, address: Int32, value: Int32): void {
  drop(code, atomicResult(atomic.i32Add, address, value));
}

/** Adds `value` to the aligned 64-bit word `offset` bytes after an address, atomically. */
export function atomicAdd64(code: Code, address: Int32, value: Int64, offset: number): void {
  code.push(address);
  code.push(value);
  code.write(0xfe, atomic.i64Add, 3, ...unsigned(offset), op.drop);
}

/** Stores a value in an aligned 32-bit word atomically. */
export function atomicStore(code: Code, address: Int32, value: number): void {
  code.push(address);
  code.push(operand(value));
  code.write(0xfe, atomic.i32Store, 2, 0);
}

/** Wakes all threads that wait at an address. */
export function notifyAll(code: Code, address: Int32): void {
  drop(code, atomicResult(atomic.notify, address, operand(-1)));
}

/** Computes a value only for its side effects, and discards the value. */
export function drop(code: Code, value: Value): void {
  code.push(value);
  code.write(op.drop);
}
