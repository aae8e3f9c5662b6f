import { ArgumentError } from './errors.ts';

/** The names of all options of a call. */
export type OptionNames<O> = { readonly [K in keyof O]-?: true };

/** Ends with an error at options that a call does not have: a slip of the pen would ask for one thing and get another. */
export function requireOptions<O extends object>(
  call: string,
  names: OptionNames<O>,
  given: O | undefined,
  code = 'options/unknown',
): void {
  if (given === undefined) return;
  // Asked at every call: the names are put together for an error alone.
  const all = (): string => Object.keys(names).join(', ');
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new ArgumentError('options/none', `${call} was given something that is no record of options.`, {
      expected: `{ ${all()} }, or nothing`,
      got: given === null ? 'null' : typeof given,
    });
  }
  const stranger = Object.keys(given).find((name) => !Object.hasOwn(names, name));
  if (stranger === undefined) return;
  throw new ArgumentError(code, `'${stranger}' is no option of ${call}.`, { expected: all(), got: stranger });
}
