import { isPromise, isRecord } from './given.ts';

/** The first invalid part of an argument. */
export interface Flaw {
  /** The path of the part, such as `tree.nodes.level`. */
  readonly path: string;
  readonly part: unknown;
  readonly expected: string;
  readonly code?: string | undefined;
  readonly remedy?: string | undefined;
  /** Replaces the default sentence. */
  readonly sentence?: ((call: string) => string) | undefined;
}

/** The contexts of columns and contexts among the arguments, by path. */
export type Homes = Map<string, object>;

/**
 * Checks an argument: returns what is wrong with it, if anything, and records the contexts of its columns in `homes`.
 */
export type Kind = (given: unknown, path: string, homes: Homes) => Flaw | undefined;

/** Additional details for the error about a flaw. */
type Told = Pick<Flaw, 'code' | 'remedy'>;

/** A kind defined by a test. */
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
/** Any number, including NaN and the infinities. */
export const aNumber: Kind = where('a number', (given) => typeof given === 'number');
export const aFiniteNumber: Kind = where('a finite number', Number.isFinite);
/** A record with any fields. */
export const someRecord: Kind = where('a record', isRecord);
export const aBigint: Kind = where('a bigint', (given) => typeof given === 'bigint');
export const aSignal: Kind = where('an AbortSignal', (given) => given instanceof AbortSignal);
/** An array of numbers, plain or typed. */
export const numbers: Kind = where('an array of numbers', isNumbers);

function isNumbers(given: unknown): boolean {
  if (Array.isArray(given)) return given.every((each) => typeof each === 'number');
  return ArrayBuffer.isView(given) && 'length' in given && !/^Big/.test(given.constructor.name);
}

/** A whole number from `min` to `max`. */
export function aWhole(min = 0, max: number = 2 ** 32 - 1, code?: string): Kind {
  const holds = (given: unknown): boolean =>
    Number.isInteger(given) && (given as number) >= min && (given as number) <= max;
  return where(`a whole number from ${min} to ${max}`, holds, { code });
}

/** A number of at least `min`, which may be infinite. */
export function atLeast(min: number, code?: string): Kind {
  return where(`a number from ${min}`, (given) => typeof given === 'number' && given >= min, { code });
}

/** A positive number, which may be infinite. */
export function aPositive(code?: string, remedy?: string): Kind {
  return where('a number above 0', (given) => typeof given === 'number' && given > 0, { code, remedy });
}

/** An instance of one of several classes, such as typed arrays. */
export function anInstance(...classes: readonly (abstract new (...args: never[]) => unknown)[]): Kind {
  const names = classes.map(({ name }) => `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`).join(' or ');
  return where(names, (given) => classes.some((each) => given instanceof each));
}

/** One of several words. */
export function aWord(words: readonly string[], code?: string): Kind {
  return where(words.join(', '), (given) => words.includes(given as string), { code });
}

/** A kind for an optional argument. */
export function optional(kind: Kind): Kind {
  return (given, path, homes) => (given === undefined ? undefined : kind(given, path, homes));
}

/** A kind for a required record, even if all its parts are optional. */
export function wanted(kind: Kind): Kind {
  return (part, path, homes) => (part === undefined ? { path, part, expected: 'a record' } : kind(part, path, homes));
}

/** Any of several kinds; `expected` describes them in the error. */
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

/** An array whose elements are all of one kind. */
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

/** The kinds of the fields of a record. */
export type FieldKinds<T> = { readonly [K in keyof T]-?: Kind };

/** A record whose fields are of these kinds; other fields are allowed. */
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

/** Objects of classes have fields too, which may be getters. */
function hasFields(given: unknown): given is { readonly [name: string]: unknown } {
  if (isRecord(given)) return Object.prototype.toString.call(given) === '[object Object]';
  return (
    Object.prototype.toString.call(given) === '[object Object]' && !isPromise(given) && !('source' in (given as object))
  );
}

/**
 * A record of options. Unknown options are refused; options whose kinds are not {@link optional} are required. If no
 * option is required, the record itself is optional.
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

/** Finds what is wrong with the options that are given. */
export function flawOfOptions<T>(
  kinds: FieldKinds<T>,
  given: unknown,
  path: string,
  homes: Homes,
  unknownCode = 'options/unknown',
): Flaw | undefined {
  // A function, because only errors need the names and this runs at every call of a primitive.
  const names = (): string => Object.keys(kinds).join(', ');
  if (!isRecord(given)) return { path, part: given, expected: `{ ${names()} }, or nothing`, code: 'options/none' };
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(kinds, name)) {
      const sentence = (call: string): string => `${call} has no option '${name}'.`;
      return { path: name, part: name, expected: names(), code: unknownCode, sentence };
    }
    if (value === undefined) continue;
    const flaw = kinds[name as keyof T](value, `the option ${name}`, homes);
    if (flaw !== undefined) return { code: 'options/value', ...flaw };
  }
  return undefined;
}
