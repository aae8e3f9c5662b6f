import { promiseGiven } from './arguments.ts';
import { ArgumentError } from './errors.ts';
import { describeGiven, isPromise, isRecord } from './given.ts';

/** What an option has to be; true where whoever reads it looks closer. */
type OptionKind = true | 'boolean' | 'function' | 'number' | 'record' | 'string';

/** The names of all options of a call, and what each of them has to be. */
export type OptionNames<O> = { readonly [K in keyof O]-?: OptionKind };

/**
 * Ends with an error at options that a call does not have, as a slip of the pen would ask for one thing and get another, and
 * at options that are not what they have to be.
 */
export function requireOptions<O extends object>(
  call: string,
  names: OptionNames<O>,
  given: O | undefined,
  code = 'options/unknown',
): void {
  if (given === undefined) return;
  // Asked at every call: the names are put together for an error alone.
  const all = (): string => Object.keys(names).join(', ');
  if (!isRecord(given)) {
    const expected = `{ ${all()} }, or nothing`;
    if (isPromise(given)) throw promiseGiven(call, 'options', expected);
    throw new ArgumentError('options/none', `${call} was given something that is no record of options.`, {
      expected,
      got: describeGiven(given),
    });
  }
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(names, name)) {
      throw new ArgumentError(code, `'${name}' is no option of ${call}.`, { expected: all(), got: name });
    }
    if (value !== undefined) requireKind(call, name, names[name as keyof O], value);
  }
}

function requireKind(call: string, name: string, kind: OptionKind, value: unknown): void {
  const isKind = kind === 'record' ? isRecord(value) : kind === true || typeof value === kind;
  if (isPromise(value)) throw promiseGiven(call, `the option ${name}`, kind === true ? 'its value' : `a ${kind}`);
  if (isKind) return;
  throw new ArgumentError('options/value', `${call} cannot take what it was given as the option ${name}.`, {
    expected: `a ${kind}`,
    got: describeGiven(value),
  });
}
