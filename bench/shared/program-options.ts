import { parseArgs } from 'node:util';

/** What an option has if it is not given: a text, a number, numbers, or no. `undefined` is for texts without a default. */
type Default = string | number | boolean | undefined | readonly number[];

/** The type of an option with a given default. */
type Value<D> = D extends number
  ? number
  : D extends boolean
    ? boolean
    : D extends readonly number[]
      ? readonly number[]
      : D extends string
        ? string
        : string | undefined;

/** The options of a program, by the types of their defaults. */
export type ProgramOptions<D> = { readonly [K in keyof D]: Value<D[K]> };

/**
 * Reads the options of this program from its command line; `defaults` names all that there are. Numbers of a list have
 * commas between them. An option that is true by default is switched off by `--no-NAME`.
 *
 * @throws TypeError of Node's `parseArgs` for other words.
 */
export function programOptions<D extends Readonly<Record<string, Default>>>(defaults: D): ProgramOptions<D> {
  return read(defaults, false).options;
}

/** As {@link programOptions}, for a program that also takes words which belong to no option. */
export function programWords<D extends Readonly<Record<string, Default>>>(
  defaults: D,
): { readonly options: ProgramOptions<D>; readonly positionals: readonly string[] } {
  return read(defaults, true);
}

function read<D extends Readonly<Record<string, Default>>>(defaults: D, allowPositionals: boolean) {
  const kinds = Object.entries(defaults).map(([name, value]) => [
    name,
    { type: typeof value === 'boolean' ? 'boolean' : 'string' } as const,
  ]);
  const { values, positionals } = parseArgs({
    options: Object.fromEntries(kinds),
    allowNegative: Object.values(defaults).includes(true),
    allowPositionals,
  });
  const given = Object.entries(values).map(([name, value]) => [name, parsed(value, defaults[name])]);
  return { options: { ...defaults, ...Object.fromEntries(given) } as ProgramOptions<D>, positionals };
}

/** The value of an option that has the type of its default. */
function parsed(given: unknown, like: Default): unknown {
  if (typeof like === 'number') return Number(given);
  return typeof like === 'object' ? String(given).split(',').map(Number) : given;
}
