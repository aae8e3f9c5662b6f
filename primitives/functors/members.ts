import { FunctorError } from '../errors.ts';
import { shortenedWords } from '../given.ts';
import { placeIn } from './place.ts';
import { ArrayValue, Value, Variable } from './value.ts';

/**
 * Runs a functor's body. What JavaScript says of a method that a value does not have, as `x.sin()`, becomes an error that
 * tells those that there are. This costs nothing where all is well: a proxy behind the values would slow each of them down.
 */
export function withMembers<R>(functor: string, body: () => R): R {
  try {
    return body();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    const sentence = `Functor ${functor} asks for something that is not there: ${cause.message}.`;
    throw new FunctorError('functor/member', shortenedWords(sentence), {
      place: placeIn(cause.stack),
      remedy: `Values have ${methodsOf(Value)}; variables ${methodsOf(Variable)} too; arrays ${methodsOf(ArrayValue)}.`,
      cause,
    });
  }
}

function methodsOf({ prototype }: { readonly prototype: object }): string {
  const names = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
  return names.join(', ');
}
