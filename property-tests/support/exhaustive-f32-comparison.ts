import { compileJavaScript } from '../../backends/reference/emit-javascript.ts';
import type { Backend, Program } from '../../primitives/contract/backend.ts';
import { fn, u32, uniform } from '../../primitives/functors/index.ts';
import type { Module } from '../../primitives/ir/ir.ts';
import { bitsOfF32, f32OfBits } from '../../primitives/ir/semantics.ts';
import type { F32Case } from './exhaustive-f32-cases.ts';
import { isNormalOrZero } from './ir-interpreter.ts';

export interface Tally {
  readonly name: string;
  readonly evaluated: number;
  /**
   * Number of results that were compared. Results of type f32 are compared only if every backend must give exactly the
   * expected bytes: if they are zero or normal, but not the smallest normal number.
   */
  compared: number;
  different: number;
  largest: number;
  first: string;
}

/** Maximum number of results that one launch computes and one read returns. */
const chunk = 2 ** 22;

/** Runs a case on a backend, for at most `max` operands, and compares every word of the results. */
export async function compareCase(backend: Backend, test: F32Case, max: number, fast: boolean): Promise<Tally> {
  const evaluated = Math.min(test.count, max);
  const tally: Tally = { name: test.name, evaluated, compared: 0, different: 0, largest: 0, first: '' };
  const device = deviceModule(test, fast);
  const operands = hostOperands(test);
  const buffer = backend.allocate(Math.min(chunk, evaluated));
  for (let base = 0; base < evaluated; base += chunk) {
    const length = Math.min(chunk, evaluated - base);
    const program: Program = { module: device, arrays: new Map(), uniforms: new Map([['base', base]]) };
    backend.run({
      kind: 'forEach',
      extent: length,
      program,
      stores: [{ buffer, offset: 0, capacity: length, value: 0 }],
    });
    const words = await backend.read(buffer, 0, length);
    for (let i = 0; i < length; i++) compareWord(tally, test, operands(base + i), words[i]!);
  }
  backend.release(buffer);
  return tally;
}

/** A module that computes the bits of a case's result for an index. */
function deviceModule(test: F32Case, fast: boolean): Module {
  const functor = fn(
    'case',
    { index: u32, base: uniform(u32) },
    u32,
    ({ index, base }) => test.device(test.operands(index.add(base))),
    { fast },
  );
  return functor.module;
}

/** Returns a JavaScript function from an index to the words of a case's operands. */
function hostOperands(test: F32Case): (index: number) => readonly number[] {
  const shape = { a: u32, b: u32, c: u32 };
  const functor = fn('operands', { index: u32 }, shape, ({ index }) => test.operands(index));
  const entry = compileJavaScript(functor.module)(new Map(), new Map());
  return (index) => entry(index) as number[];
}

function compareWord(tally: Tally, test: F32Case, words: readonly number[], got: number): void {
  const expected = test.host(words);
  if (test.result === 'f32') {
    // The smallest normal number is left out too: a device may flush the unrounded result to zero before the result
    // is rounded up to this number.
    if (!isNormalOrZero(expected) || Math.abs(expected) === 2 ** -126) return;
  }
  tally.compared++;
  const bits = test.result === 'f32' ? bitsOfF32(expected) : expected >>> 0;
  if (bits === got) return;
  tally.different++;
  tally.largest = Math.max(tally.largest, Math.abs(bits - got));
  const hex = (word: number): string => word.toString(16).padStart(8, '0');
  const show = (word: number): string => (test.result === 'f32' ? `${f32OfBits(word)}` : `${word}`);
  tally.first ||= `${words.map(hex).join(' ')} → ${show(got)}, not ${show(bits)}`;
}
