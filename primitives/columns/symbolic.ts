import { ArgumentError } from '../checks/errors.ts';
import type { ScalarType } from '../ir/ir.ts';
import { f32OfBits } from '../ir/semantics.ts';
import type { DeviceLength, Memory } from './column.ts';

/**
 * A placeholder for a length that each call of a prepared pipeline provides, in word `word` of the call's argument
 * block.
 */
export function symbolicLength(block: Memory, word: number, limit: number): DeviceLength {
  const length = {
    memory: block,
    word,
    minus: 0,
    limit,
    [Symbol.toPrimitive]: refuseDecision(
      'The length of a column',
      'To make another column of the same length, pass column.length itself; column.capacity is a number.',
    ),
  };
  return length;
}

/** A placeholder for a uniform that each call of a prepared pipeline provides. */
export class SymbolicUniform {
  readonly type: ScalarType;
  /** Index of the word that holds the value in the argument block of a call. */
  readonly word: number;

  constructor(type: ScalarType, word: number) {
    this.type = type;
    this.word = word;
  }

  /** Decodes the value from the argument block of a call. */
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
      remedy: `${remedy} If the commands depend on it, prepare a pipeline for each case.`,
    });
  };
}
