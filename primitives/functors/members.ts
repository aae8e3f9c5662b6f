import { FunctorError } from '../checks/errors.ts';
import { shortenedWords } from '../checks/given.ts';
import { placeIn } from './place.ts';
import { ArrayValue, Value, Variable } from './value.ts';

/**
 * Runs a functor's body. If the body calls a method that values do not have, such as `x.sin()`, JavaScript's error is
 * replaced by one that lists the existing methods. This costs nothing for correct bodies, whereas wrapping all values
 * in proxies would slow down every body.
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
