import { isPromise, isRecord } from './given.ts';
import { remedyForName } from './suggest.ts';

/** What is wrong with an argument: its first invalid part, and details for the error. */
export interface Flaw {
  /** The path of the invalid part, such as `tree.nodes.level`. */
  readonly path: string;
  readonly part: unknown;
  readonly expected: string;
  readonly code?: string | undefined;
  readonly remedy?: string | undefined;
  /** Makes the error message. If undefined, the error has the default message. */
  readonly sentence?: ((call: string) => string) | undefined;
}

/**
 * The columns and contexts found among the arguments, by path. All columns must belong to the same context, and every
 * context found must be this context.
 */
export type Homes = Map<string, object>;

/**
 * A check of an argument. It returns what is wrong with the argument, or undefined, and records the argument's
 * columns and contexts in `homes`.
 */
export type Kind = (given: unknown, path: string, homes: Homes) => Flaw | undefined;

/** The code and the remedy of the error that is thrown if an argument fails the check. */
type Told = Pick<Flaw, 'code' | 'remedy'>;

/** Makes a kind (a check of arguments) from a test. `expected` describes a valid argument in error messages. */
export function where(expected: string, holds: (given: unknown) => boolean, told: Told = {}): Kind {
  return (part, path) => (holds(part) ? undefined : { path, part, expected, ...told });
}

export const anything: Kind = () => undefined;
export const aText: Kind = where('a text', (given) => typeof given === 'string');
export const aFlag: Kind = where('a boolean', (given) => typeof given === 'boolean');
export const aFunction: Kind = where('a function', (given) => typeof given === 'function');
export const anAddress: Kind = where(
  'an address: a text or a URL',
  (given) => typeof given === 'string' || given instanceof URL,
);
/** Accepts any number, including NaN and the infinities. */
export const aNumber: Kind = where('a number', (given) => typeof given === 'number');
export const aFiniteNumber: Kind = where('a finite number', Number.isFinite);
/** Accepts a record with any fields. */
export const someRecord: Kind = where('a record', isRecord);
export const aBigint: Kind = where('a bigint', (given) => typeof given === 'bigint');
export const aSignal: Kind = where('an AbortSignal', (given) => given instanceof AbortSignal);
/** Accepts an array of numbers or a typed array. */
export const numbers: Kind = where('an array of numbers', isNumbers);

function isNumbers(given: unknown): boolean {
  if (Array.isArray(given)) return given.every((each) => typeof each === 'number');
  return ArrayBuffer.isView(given) && 'length' in given && !/^Big/.test(given.constructor.name);
}

/** Accepts a whole number from `min` to `max`. */
export function aWhole(min = 0, max: number = 2 ** 32 - 1, code?: string): Kind {
  const holds = (given: unknown): boolean =>
    Number.isInteger(given) && (given as number) >= min && (given as number) <= max;
  return where(`a whole number from ${min} to ${max}`, holds, { code });
}

/** Accepts a number from `min` to `max`. */
export function aNumberWithin(min: number, max: number, code?: string): Kind {
  const holds = (given: unknown): boolean => typeof given === 'number' && given >= min && given <= max;
  return where(`a number from ${min} to ${max}`, holds, { code });
}

/** Accepts a number of at least `min`. Infinity is allowed. */
export function atLeast(min: number, code?: string): Kind {
  return where(`a number from ${min}`, (given) => typeof given === 'number' && given >= min, { code });
}

/** Accepts a positive number. Infinity is allowed. */
export function aPositive(code?: string, remedy?: string): Kind {
  return where('a number above 0', (given) => typeof given === 'number' && given > 0, { code, remedy });
}

/** Accepts an instance of one of several classes, such as typed arrays. */
export function anInstance(...classes: readonly (abstract new (...args: never[]) => unknown)[]): Kind {
  const names = classes.map(({ name }) => `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`).join(' or ');
  return where(names, (given) => classes.some((each) => given instanceof each));
}

/** Accepts one of several words. */
export function aWord(words: readonly string[], code?: string): Kind {
  return where(words.join(', '), (given) => words.includes(given as string), { code });
}

/** Accepts `undefined`, and everything that the given kind accepts. */
export function optional(kind: Kind): Kind {
  return (given, path, homes) => (given === undefined ? undefined : kind(given, path, homes));
}

/**
 * Accepts what the given kind accepts, except `undefined`. For records that the caller must pass even if all of their
 * fields are optional.
 */
export function wanted(kind: Kind): Kind {
  return (part, path, homes) => (part === undefined ? { path, part, expected: 'a record' } : kind(part, path, homes));
}

/** Accepts what any of several kinds accepts. `expected` describes a valid argument in the error. */
export function eitherOf(expected: string, ...kinds: readonly Kind[]): Kind {
  return (part, path, homes) => {
    for (const kind of kinds) {
      const found = new Map<string, object>();
      if (kind(part, path, found) !== undefined) continue;
      for (const [at, each] of found) homes.set(at, each);
      return undefined;
    }
    return { path, part, expected };
  };
}

/** Accepts an array if the given kind accepts all of its elements. */
export function anArrayOf(kind: Kind, expected = 'an array'): Kind {
  return (part, path, homes) => {
    if (!Array.isArray(part)) return { path, part, expected };
    for (const [i, each] of part.entries()) {
      const flaw = kind(each, `${path}[${i}]`, homes);
      if (flaw !== undefined) return flaw;
    }
    return undefined;
  };
}

/** The kind of each field of a record. */
export type FieldKinds<T> = { readonly [K in keyof T]-?: Kind };

/** Accepts a record if its fields have the given kinds. Further fields are allowed. */
export function aRecord<T>(fields: FieldKinds<T>): Kind {
  const kinds = Object.entries<Kind>(fields);
  const expected = `{ ${kinds.map(([name]) => name).join(', ')} }`;
  return (part, path, homes) => {
    if (!hasFields(part)) return { path, part, expected };
    for (const [name, kind] of kinds) {
      const flaw = kind(part[name], `${path}.${name}`, homes);
      if (flaw !== undefined) return flaw;
    }
    return undefined;
  };
}

/**
 * Whether a value has fields that can be checked. Instances of classes are accepted too, because their getters are
 * fields as well.
 */
function hasFields(given: unknown): given is { readonly [name: string]: unknown } {
  if (isRecord(given)) return Object.prototype.toString.call(given) === '[object Object]';
  return (
    Object.prototype.toString.call(given) === '[object Object]' && !isPromise(given) && !('source' in (given as object))
  );
}

/**
 * Accepts a record of options. Unknown options are rejected, and options are required unless their kind is
 * {@link optional}. If no option is required, the record itself is optional.
 */
export function someOptions<T>(kinds: FieldKinds<T>): Kind {
  const all = Object.entries<Kind>(kinds);
  return (given, path, homes) => {
    const flaw = given === undefined ? undefined : flawOfOptions(kinds, given, path, homes);
    if (flaw !== undefined) return flaw;
    for (const [name, kind] of all) {
      const missing = (given as { readonly [name: string]: unknown })?.[name] === undefined;
      const wanted = missing ? kind(undefined, `the option ${name}`, homes) : undefined;
      if (wanted !== undefined) return wanted;
    }
    return undefined;
  };
}

/** Finds the first unknown or invalid option in a record of options. */
export function flawOfOptions<T>(
  kinds: FieldKinds<T>,
  given: unknown,
  path: string,
  homes: Homes,
  unknownCode = 'options/unknown',
): Flaw | undefined {
  // The list of names is made in a function, because only errors need it. This code runs at every call of a primitive.
  const names = (): string => Object.keys(kinds).join(', ');
  if (!isRecord(given)) return { path, part: given, expected: `{ ${names()} }, or nothing`, code: 'options/none' };
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(kinds, name)) {
      const sentence = (call: string): string => `${call} has no option '${name}'.`;
      const remedy = remedyForName(name, Object.keys(kinds));
      return { path: name, part: name, expected: names(), code: unknownCode, remedy, sentence };
    }
    if (value === undefined) continue;
    const flaw = kinds[name as keyof T](value, `the option ${name}`, homes);
    if (flaw !== undefined) return { code: 'options/value', ...flaw };
  }
  return undefined;
}
