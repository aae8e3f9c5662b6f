import { FunctorError } from '../errors.ts';
import { shortenedWords } from '../given.ts';
import { placeIn } from './place.ts';
import { ArrayValue, Value, Variable } from './value.ts';

/**
 * Runs a functor's body. If it calls a method that a value does not have, such as `x.sin()`, JavaScript's error is
 * replaced by one that lists the existing methods. This costs nothing for correct bodies; a proxy behind the values
 * would slow down each of them.
 */
export function withMembers<R>(functor: string, body: () => R): R {
  try {
    return body();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    const sentence = `Functor ${functor} uses something that does not exist: ${cause.message}.`;
    throw new FunctorError('functor/member', shortenedWords(sentence), {
      place: placeIn(cause.stack),
      remedy: `Values have ${methodsOf(Value)}; variables also have ${methodsOf(Variable)}; arrays have ${methodsOf(ArrayValue)}.`,
      cause,
    });
  }
}

function methodsOf({ prototype }: { readonly prototype: object }): string {
  const names = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
  return names.join(', ');
}
