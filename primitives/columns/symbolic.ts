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
    [Symbol.toPrimitive]: refuseDecision('The length of a column'),
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
    return refuseDecision('A uniform')();
  }
}

function refuseDecision(what: string): () => never {
  return () => {
    throw new ArgumentError('prepare/decision', `${what} was used as a number while a pipeline was prepared.`, {
      expected: 'a pipeline whose commands are the same in every call',
      remedy: 'Decide inside of a functor, on the device, or prepare a pipeline for each case. capacity is known.',
    });
  };
}
