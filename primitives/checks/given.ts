/** Maximum number of characters of a user's text that an error message quotes. */
const MAX_QUOTED = 60;

/** A text for quotation in an error message. Long texts are cut in the middle. */
export function shortened(text: string): string {
  if (text.length <= MAX_QUOTED) return text;
  const [head, tail] = [text.slice(0, MAX_QUOTED - 20), text.slice(-10)];
  return `${head}…${tail} (${text.length} characters)`;
}

/** Cuts the long words of a sentence in the middle. Such words may come from the user's input. */
export function shortenedWords(sentence: string): string {
  const words = sentence.replace(/\S{100,}/g, shortened);
  return words.length <= MAX_SAID ? words : `${words.slice(0, MAX_SAID)}…`;
}

const MAX_SAID = 2000;

/** A number of rows; for one that only the device knows, its limit. */
export function lengthText(length: number | { readonly limit: number }): string {
  return typeof length === 'number' ? `${length}` : `a device count of at most ${length.limit}`;
}

/** A noun after "a" or "an", for names of kinds, types and classes: an object, an f32, an i32, a u32. */
export function withArticle(noun: string): string {
  return `${/^(?:[aeio]|f\d|un(?!i))/i.test(noun) ? 'an' : 'a'} ${noun}`;
}

/** Whether a value is a promise, for example because `await` was forgotten. */
export function isPromise(given: unknown): given is PromiseLike<unknown> {
  if (typeof given !== 'object' || given === null) return false;
  return given instanceof Promise || typeof (given as { readonly then?: unknown }).then === 'function';
}

/**
 * Whether an object looks like a column. The check cannot use `instanceof`, because this file must not import the class
 * `Column`.
 */
export function isColumn(given: object): given is { readonly type: string } {
  return typeof ownField(given, 'type') === 'string' && typeof ownField(given, 'source') === 'object';
}

/**
 * An object's own property; undefined if the object has none of this name. Some objects, such as the values of
 * functors, throw when an unknown property is read.
 */
function ownField(given: object, name: string): unknown {
  return Object.hasOwn(given, name) ? (given as { readonly [name: string]: unknown })[name] : undefined;
}

/**
 * Whether a value is a record: an object with fields, but not an array, a column, a promise or another special object.
 */
export function isRecord(given: unknown): given is { readonly [name: string]: unknown } {
  if (typeof given !== 'object' || given === null || Array.isArray(given) || ArrayBuffer.isView(given)) return false;
  return isPlain(given) || (Object.keys(given).length > 0 && !isPromise(given) && !isColumn(given));
}

/** Whether an object is plain, which excludes arrays and instances of classes. */
export function isPlain(given: object): boolean {
  const prototype = Object.getPrototypeOf(given);
  // Plain objects of another realm, such as an iframe, have the `Object.prototype` of that realm. Like any
  // `Object.prototype`, it has no prototype itself.
  return prototype === null || (Object.getPrototypeOf(prototype) === null && !isPromise(given));
}

/** Describes a caller's value in a few words, for error messages. */
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
  if (tag !== 'Object') return withArticle(shortened(tag));
  const names = Object.keys(given);
  return names.length === 0 ? 'an object without fields' : `{ ${shortened(names.join(', '))} }`;
}
