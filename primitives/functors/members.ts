import { FunctorError } from '../checks/errors.ts';
import { shortenedWords } from '../checks/given.ts';
import { OPERATIONS } from '../ir/operations.ts';
import { LocalValues } from './local-arrays.ts';
import { placeIn } from './place.ts';
import { ArrayValue, Value, Variable } from './value.ts';

/**
 * Runs a functor's body. If the body calls a method that values do not have, such as `x.sin()`, JavaScript's error is
 * replaced by one that lists the existing methods. This costs nothing for correct bodies, whereas wrapping all values
 * in proxies would slow down every body.
 */
export function withMembers<A extends object, R>(functor: string, body: (args: A) => R, args: A): R {
  try {
    return body(args);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    const sentence = `Functor ${functor} uses something that does not exist: ${cause.message}.`;
    throw new FunctorError('functor/member', shortenedWords(sentence), {
      place: placeIn(cause.stack),
      remedy: body.length > 1 ? remedyForSeveral(args) : (remedyFor(cause.message) ?? listed()),
      cause,
    });
  }
}

/** What to write where a body has a parameter for each argument, such as `(a, b) => a.add(b)`. */
function remedyForSeveral(args: object): string {
  return `A body has one parameter, a record: write ({ ${Object.keys(args).join(', ')} }) => ….`;
}

/** What to write for a call of a method that there is not, such as `x.sqrt()`. */
function remedyFor(message: string): string | undefined {
  const [, of, name] = /(\w+)\.(\w+) is not a function/.exec(message) ?? [];
  if (of === undefined || name === undefined) return undefined;
  if (name === 'at')
    return `A functor reads a column by a parameter: declare ${of}: array(f32), and pass the column under this name.`;
  if (Object.hasOwn(Value.prototype, name))
    return `Only values have ${name}. Of the cells around write ${of}.at(0, 0).${name}(…), of an array ${of}.at(i).${name}(…), of a record name a field.`;
  return Object.hasOwn(OPERATIONS, name) || name === 'clamp'
    ? `Write ${name}(${of}), a function of quadrille.`
    : undefined;
}

function listed(): string {
  return `Values have ${methodsOf(Value)}; variables also have ${methodsOf(Variable)}; arrays have ${methodsOf(ArrayValue)}; local arrays have ${methodsOf(LocalValues)}.`;
}

function methodsOf({ prototype }: { readonly prototype: object }): string {
  const names = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
  return names.join(', ');
}
