/** More of a text than this says no more about what is wrong with it. */
const MAX_QUOTED = 60;

/** A text as errors quote it: cut in the middle where it is long. */
export function shortened(text: string): string {
  if (text.length <= MAX_QUOTED) return text;
  const [head, tail] = [text.slice(0, MAX_QUOTED - 20), text.slice(-10)];
  return `${head}…${tail} (${text.length} characters)`;
}

/** A sentence whose words, which may be those of a user's text, are cut where they are long. */
export function shortenedWords(sentence: string): string {
  const words = sentence.replace(/\S{100,}/g, shortened);
  return words.length <= MAX_SAID ? words : `${words.slice(0, MAX_SAID)}…`;
}

const MAX_SAID = 2000;

/** Whether something is a promise: what an asynchronous function returns where `await` is forgotten. */
export function isPromise(given: unknown): given is PromiseLike<unknown> {
  if (typeof given !== 'object' || given === null) return false;
  return given instanceof Promise || typeof (given as { readonly then?: unknown }).then === 'function';
}

/** A column, as far as what knows no columns can tell. */
function isColumn(given: object): given is { readonly type: string } {
  return typeof ownField(given, 'type') === 'string' && typeof ownField(given, 'source') === 'object';
}

/** A field of an object's own: a value of a functor has an error for those that it lacks. */
function ownField(given: object, name: string): unknown {
  return Object.hasOwn(given, name) ? (given as { readonly [name: string]: unknown })[name] : undefined;
}

/** Whether something is a record: an object with fields, and no array, column, promise or other thing that is more than them. */
export function isRecord(given: unknown): given is { readonly [name: string]: unknown } {
  if (typeof given !== 'object' || given === null || Array.isArray(given) || ArrayBuffer.isView(given)) return false;
  return isPlain(given) || (Object.keys(given).length > 0 && !isPromise(given) && !isColumn(given));
}

/** Whether an object is no array, and of no class. */
export function isPlain(given: object): boolean {
  const prototype = Object.getPrototypeOf(given);
  // That of another realm's objects has no prototype either.
  return prototype === null || (Object.getPrototypeOf(prototype) === null && !isPromise(given));
}

/** What was given, in a few words, for the errors that say so. */
export function describeGiven(given: unknown): string {
  if (given === undefined) return 'nothing';
  if (given === null) return 'null';
  switch (typeof given) {
    case 'string':
      return `the text '${shortened(given)}'`;
    case 'bigint':
      return `${shortened(String(given))}n`;
    case 'function':
      return describeFunction(given);
    case 'object':
      return describeObject(given);
    default:
      return String(given);
  }
}

function describeFunction(given: object): string {
  if ('functorName' in given) return `the functor ${shortened(String(given.functorName))}`;
  if ('type' in given && typeof given.type === 'string') return `the type ${shortened(given.type)}`;
  return 'a JavaScript function';
}

function describeObject(given: object): string {
  if (isPromise(given)) return 'a promise';
  if (Array.isArray(given)) return `an array of ${given.length}`;
  if (isColumn(given)) return `a column of ${given.type}`;
  const operand = ownField(given, 'operand');
  if (typeof operand === 'object' && operand !== null && 'type' in operand)
    return `a functor's value of ${operand.type}`;
  const tag = Object.prototype.toString.call(given).slice(8, -1);
  if (tag !== 'Object') return `${/^[AEIO]/.test(tag) ? 'an' : 'a'} ${shortened(tag)}`;
  const names = Object.keys(given);
  return names.length === 0 ? 'an object without fields' : `{ ${shortened(names.join(', '))} }`;
}
