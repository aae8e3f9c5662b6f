import { FunctorError } from '../../../primitives/checks/errors.ts';
import { largestOf } from '../../../primitives/host/extremes.ts';
import { entryOf, type IrFunction, type LocalArray, type Module } from '../../../primitives/ir/ir.ts';
import { memoized } from '../../../primitives/ir/memo.ts';
import { visitStatements } from '../../../primitives/ir/visit.ts';
import { FRAME_BYTES, fixed } from '../threads/queue.ts';
import type { Code } from './wasm-code.ts';
import { I32 } from './wasm-encoder.ts';
import type { Int32, Scalar, Vector } from './wasm-expressions.ts';
import type { Int32Local } from './wasm-locals.ts';
import { doWhile, store } from './wasm-statements.ts';

/**
 * Local arrays of functors in linear memory, whose indices WebAssembly can compute. Every worker has a frame of
 * {@link FRAME_BYTES} bytes. An array has two more slots than elements: the first is zero, for reads out of range; the
 * other takes writes out of range. Accesses thus need no branch.
 */
const MORE_SLOTS = 2;

/** The frame of the worker, of which the bytes before `top` are in use. */
export interface FrameMemory {
  readonly address: Int32Local;
  top: number;
}

/** An array in the frame. */
export interface FrameArray {
  readonly address: Int32Local;
  /** Where the array begins, in bytes from the start of the frame. */
  readonly offset: number;
  readonly length: number;
  /** Bytes from an element to the next. */
  readonly stride: number;
}

/** Emits code with the address of the frame in a local. There is none if the module has no arrays. */
export function withFrame<R>(code: Code, module: Module, emit: (memory: FrameMemory | undefined) => R): R {
  const bytes = frameBytes(module);
  if (bytes === 0) return emit(undefined);
  if (bytes > FRAME_BYTES) throw tooLarge(bytes);
  const memory = openFrame(code);
  const made = emit(memory);
  code.release(memory.address);
  return made;
}

/** A local with the address of the frame, whose bytes are all free. */
export function openFrame(code: Code): FrameMemory {
  const address = code.local(I32);
  address.set(code.worker.mul(FRAME_BYTES).add(fixed.frames));
  return { address, top: 0 };
}

function tooLarge(bytes: number): FunctorError {
  return new FunctorError(
    'functor/webassembly',
    'A functor and the functors that it calls have too many local arrays.',
    {
      expected: `at most ${FRAME_BYTES / 4} elements at a time`,
      got: bytes / 4,
      remedy: 'Make the arrays shorter, or store results of helpers in columns.',
    },
  );
}

/** Bytes of the frame that scalar code needs: arrays of a function and of its callees are in use at the same time. */
const frameBytes = memoized((module: Module): number => {
  const bytes = new Map<string, number>();
  for (const fn of module.functions) bytes.set(fn.name, ownBytes(fn) + bytesOfCallees(fn, bytes));
  return bytes.get(entryOf(module).name)!;
});

function ownBytes({ body }: IrFunction): number {
  let bytes = 0;
  visitStatements(body, (statement) => {
    if (statement.kind === 'localArray') bytes += bytesOf(statement.localArray, 4);
  });
  return bytes;
}

function bytesOfCallees({ body }: IrFunction, bytes: ReadonlyMap<string, number>): number {
  const callees: number[] = [];
  visitStatements(body, (statement) => {
    if (statement.kind === 'call') callees.push(bytes.get(statement.callee)!);
  });
  return largestOf(callees, 0);
}

/** Bytes of the frame that an array needs. */
export function bytesOf({ length }: LocalArray, stride: number): number {
  return (length + MORE_SLOTS) * stride;
}

/** Takes memory of the frame for an array. */
export function declareArray(memory: FrameMemory, array: LocalArray, stride: number): FrameArray {
  const offset = memory.top;
  memory.top += bytesOf(array, stride);
  return { address: memory.address, offset, length: array.length, stride };
}

/** Maximum number of elements that are stored one by one where an array begins; more are stored in a loop. */
const MAX_UNROLLED = 16;

/** Emits code that sets all elements to a value. `part` is the byte of a slot at which the value is stored. */
export function fillArray(
  code: Code,
  { address, offset, length, stride }: FrameArray,
  value: Scalar | Vector,
  none: Scalar | Vector,
  part = 0,
): void {
  if (length <= MAX_UNROLLED) {
    for (let k = 0; k < length; k++) store(code, address, value, offset + part + k * stride);
  } else {
    const [at, end] = [code.local(I32), code.local(I32)];
    end.set(at.tee(address).add(length * stride));
    doWhile(
      code,
      () => {
        store(code, at, value, offset + part);
        at.set(at.add(stride));
      },
      at.ltU(end),
    );
    for (const local of [at, end]) code.release(local);
  }
  store(code, address, none, offset + part + length * stride);
}

/** A place in memory: `offset` bytes after `address`. */
interface Place {
  readonly address: Int32;
  readonly offset: number;
}

/** The slot that a read of element `index` loads. */
export function readPlace(array: FrameArray, index: Int32 | number): Place {
  return placeOf(array, index, array.length);
}

/** The slot to which a write of element `index` goes. */
export function writePlace(array: FrameArray, index: Int32 | number): Place {
  return placeOf(array, index, array.length + 1);
}

function placeOf({ address, offset, length, stride }: FrameArray, index: Int32 | number, outside: number): Place {
  if (typeof index === 'number') return { address, offset: offset + Math.min(index, outside) * stride };
  return { address: address.add(index.ltU(length).select(index, outside).mul(stride)), offset };
}
