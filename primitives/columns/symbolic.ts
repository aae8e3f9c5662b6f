import { ArgumentError } from '../errors.ts';
import type { ScalarType } from '../functors/ir.ts';
import { f32OfBits } from '../functors/semantics.ts';
import type { DeviceLength, Memory } from './column.ts';

/** A length that is another in every call. */
export function symbolicLength(block: Memory, word: number, limit: number): DeviceLength {
  const length = {
    memory: block,
    word,
    minus: 0,
    limit,
    [Symbol.toPrimitive]: refuseDecision(
      'The length of a column',
      'To make a column as long, pass column.length as it is; column.capacity has a number.',
    ),
  };
  return length;
}

/** A number that is another in every call. */
export class SymbolicUniform {
  readonly type: ScalarType;
  /** The word of a call's block that holds it. */
  readonly word: number;

  constructor(type: ScalarType, word: number) {
    this.type = type;
    this.word = word;
  }

  /** The number, out of the block of a call. */
  valueIn(block: Uint32Array): number | boolean {
    const word = block[this.word]!;
    if (this.type === 'f32') return f32OfBits(word);
    return this.type === 'bool' ? word !== 0 : this.type === 'i32' ? word | 0 : word;
  }

  [Symbol.toPrimitive](): never {
    return refuseDecision('A uniform', 'Pass it to a functor as it is, and compute with it there.')();
  }
}

function refuseDecision(what: string, remedy: string): () => never {
  return () => {
    throw new ArgumentError('prepare/decision', `${what} has no value while a pipeline is prepared.`, {
      remedy: `${remedy} Where the commands depend on it, prepare a pipeline for each case.`,
    });
  };
}
