import { type Backend, capacityOf, type Program, type WeightedHistogramCommand } from '../contract/backend.ts';
import { For, Let, Var } from '../functors/control.ts';
import { u32 } from '../functors/functor.ts';
import { add64, shl64 } from '../functors/standard/wide.ts';
import type { U32 } from '../functors/value.ts';
import { entryOf } from '../ir/ir.ts';
import { assemble, type BoundArray, withBuffers, wordsAt, zeroWords } from './assembled-program.ts';

/**
 * How weights are split into digits. A digit has so few bits that the sum of one digit over all rows fits in 32 bits.
 */
interface Digits {
  readonly width: number;
  readonly count: number;
}

function digitsOf(rows: number): Digits {
  const width = Math.max(1, 32 - Math.ceil(Math.log2(rows + 1)));
  return { width, count: Math.ceil(32 / width) };
}

/**
 * Runs a weighted histogram with `forEach`. Every digit of every weight is added atomically; then the sums of the
 * digits are combined into 64-bit sums. Allocates memory for the sums of the digits.
 */
export function weightedHistogramByDigits(backend: Backend, command: WeightedHistogramCommand): void {
  const { extent, program, bins, into } = command;
  const weights = weightsOf(command);
  const digits = digitsOf(capacityOf(extent));
  const words = digits.count * weights * bins;
  withBuffers(backend, (take) => {
    const sums = take(words);
    zeroWords(backend, words, { buffer: sums, offset: 0, capacity: words });
    for (let digit = 0; digit < digits.count; digit++) {
      const stores = Array.from({ length: weights }, (_, weight) => ({
        buffer: sums,
        offset: (weight * digits.count + digit) * bins,
        capacity: bins,
        index: 0,
        value: 1 + weight,
        combine: 'add' as const,
      }));
      const made = digitProgram(program, digit * digits.width, digits.width);
      backend.run({ kind: 'forEach', extent, program: made, stores });
    }
    const half = weights * bins;
    const stores = [0, 1].map((value) => ({
      buffer: into.buffer,
      offset: into.word,
      capacity: 2 * half,
      value,
      index: 2 + value,
    }));
    const added = sumProgram(wordsAt(sums, words), bins, digits);
    backend.run({ kind: 'forEach', extent: half, program: added, stores });
  });
}

/** The number of weights that a row has: all results of the program except the bin. */
export function weightsOf({ program }: Pick<WeightedHistogramCommand, 'program'>): number {
  return entryOf(program.module).results.length - 1;
}

/** A program that returns the bin of a row, and one digit of each of its weights. */
function digitProgram(program: Program, shift: number, width: number): Program {
  const { results } = entryOf(program.module);
  const given = { programs: { row: program }, uniforms: { shift, mask: (2 ** width - 1) >>> 0 } };
  return assemble('weightDigit', results, given, (index, { programs, uniforms }) => {
    const [bin, ...weights] = programs.row!([index]) as [U32, ...U32[]];
    return [bin, ...weights.map((weight) => weight.shr(uniforms.shift!).and(uniforms.mask!))];
  });
}

/**
 * A program that computes both words of a 64-bit sum and the positions to which they are written. For each weight, the
 * low words of all bins come before the high words of all bins.
 */
function sumProgram(sums: BoundArray, bins: number, { count: digits, width }: Digits): Program {
  const given = { arrays: { sums }, uniforms: { bins, digits, width } };
  return assemble('sumOfDigits', ['u32', 'u32', 'u32', 'u32'], given, (index, { arrays, uniforms }) => {
    const weight = Let(index.div(uniforms.bins!));
    const bin = Let(index.sub(weight.mul(uniforms.bins!)));
    const [lo, hi] = [Var(u32(0)), Var(u32(0))];
    For(0, uniforms.digits!, (digit) => {
      const place = weight.mul(uniforms.digits!).add(digit).mul(uniforms.bins!).add(bin);
      const part = shl64({
        a: { lo: arrays.sums!.at(place) as U32, hi: u32(0) },
        count: digit.mul(uniforms.width!),
      });
      const sum = add64({ a: { lo, hi }, b: part });
      const [low, high] = [Let(sum.lo), Let(sum.hi)];
      lo.set(low);
      hi.set(high);
    });
    const first = Let(weight.mul(2).mul(uniforms.bins!).add(bin));
    return [Let(lo), Let(hi), first, first.add(uniforms.bins!)];
  });
}
