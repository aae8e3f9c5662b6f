import { parseArgs } from 'node:util';
import { UsageError } from '../formats/usage-error.ts';
import { suggest } from './suggest.ts';

/** An option of a command, for the parser and for the help page. */
export interface OptionSpec {
  readonly name: string;
  readonly short?: string;
  /** The name of the value in the help. An option without it is a flag. */
  readonly value?: string;
  readonly help: string;
  /** The only values allowed. */
  readonly choices?: readonly string[];
  /** Whether the option may be given several times. */
  readonly repeats?: boolean;
}

/** The values of the options by name: text, or true for a flag. */
export type OptionValues = ReadonlyMap<string, string | true>;

/** The words and options of one call. */
export interface CommandWords {
  /** The words that belong to no option. */
  readonly words: readonly string[];
  readonly values: OptionValues;
  /** All values of the options that may be given several times, by name. */
  readonly repeated: ReadonlyMap<string, readonly string[]>;
}

/** Reads the options of a command that takes no other words; see {@link readCommand}. */
export function readOptions(args: readonly string[], specs: readonly OptionSpec[]): OptionValues {
  return readCommand(args, specs, []).values;
}

/**
 * Parses `--name value`, `--name=value`, flags and words, in any order. `names` are the names of the words; if the last
 * one ends in `…`, there may be several of it. Everything after `--` is a word.
 *
 * A value may begin with one dash (`--nodata -9999`, `--bins -1:1:0.1`, `--out -`); one that begins with two needs
 * `--name=--value`.
 *
 * @throws UsageError for an option that is unknown (the error suggests the nearest one) or given twice, for a value that is
 * missing, not taken or not among the choices, and for too few or too many words.
 */
export function readCommand(
  args: readonly string[],
  specs: readonly OptionSpec[],
  names: readonly string[],
): CommandWords {
  const values = new Map<string, string | true>();
  const repeated = new Map<string, string[]>();
  const words: string[] = [];
  const maxWords = names.at(-1)?.endsWith('…') === true ? Number.POSITIVE_INFINITY : names.length;
  for (const token of tokenize(args, specs)) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      if (words.length === maxWords) throw strayWord(token.value);
      words.push(token.value);
      continue;
    }
    const spec = specs.find(({ name }) => name === token.name);
    if (spec === undefined) throw unknownOption(token.rawName, specs);
    if (spec.repeats === true) {
      repeated.set(spec.name, [...(repeated.get(spec.name) ?? []), optionValue(spec, token) as string]);
      continue;
    }
    if (values.has(spec.name)) throw new UsageError('usage/repeated-option', `--${spec.name} is given twice.`);
    values.set(spec.name, optionValue(spec, token));
  }
  if (words.length < names.length) throw missingWord(names[words.length]!, names);
  return { words, values, repeated };
}

function missingWord(name: string, names: readonly string[]): UsageError {
  const remedy =
    names.length === 1
      ? 'Name a file right after the command.'
      : `Name ${names.join(' and ')}, each a file or a folder.`;
  return new UsageError('usage/missing-word', `${name.replace('…', '')} is missing.`, { remedy });
}

type Token = ReturnType<typeof tokenize>[number];
type OptionToken = Extract<Token, { kind: 'option' }>;

function tokenize(args: readonly string[], specs: readonly OptionSpec[]) {
  const options = Object.fromEntries(
    specs.map(({ name, short, value }) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        ...(short === undefined ? {} : { short }),
      },
    ]),
  );
  // Not strict: the messages of parseArgs have no remedy, and it refuses values that begin with a dash.
  return parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true }).tokens;
}

function optionValue(spec: OptionSpec, token: OptionToken): string | true {
  if (spec.value === undefined) {
    if (token.value === undefined) return true;
    throw new UsageError('usage/unexpected-value', `--${spec.name} takes no value; got ${token.value}.`);
  }
  if (token.value === undefined || token.value === '' || (!token.inlineValue && token.value.startsWith('--'))) {
    throw new UsageError('usage/missing-value', `--${spec.name} needs a value.`, {
      remedy: `Write --${spec.name} ${spec.value}.`,
    });
  }
  if (spec.choices !== undefined && !spec.choices.includes(token.value)) throw notAChoice(spec, token.value);
  return token.value;
}

function notAChoice({ name, choices = [] }: OptionSpec, value: string): UsageError {
  const meant = suggest(value, choices);
  return new UsageError('usage/not-a-choice', `--${name} cannot be ${value}.`, {
    remedy: meant === undefined ? `Choose from ${choices.join(', ')}.` : `Did you mean ${meant}?`,
  });
}

function unknownOption(rawName: string, specs: readonly OptionSpec[]): UsageError {
  const name = rawName.replace(/^-+/, '');
  if (name === 'budget') return replacedOption(name, 'memory', 'SIZE: it bounds the memory of all data of the run');
  const meant = suggest(
    name,
    specs.map(({ name }) => name),
  );
  return new UsageError('usage/unknown-option', `There is no option ${rawName}.`, {
    remedy: meant === undefined ? 'See --help for the options.' : `Did you mean --${meant}?`,
  });
}

function replacedOption(name: string, by: string, how: string): UsageError {
  return new UsageError('usage/unknown-option', `There is no option --${name}; --${by} replaced it.`, {
    remedy: `Write --${by} ${how}.`,
  });
}

function strayWord(word: string): UsageError {
  return new UsageError('usage/stray-word', `The word '${word}' belongs to no option.`, {
    remedy: 'Put a value right after its option, and quote values that contain spaces.',
  });
}

/** The value of an option, or undefined if it is not given. */
export function text(values: OptionValues, name: string): string | undefined {
  const value = values.get(name);
  return value === true ? undefined : value;
}

/** The value of an option, parsed by `parse`, or undefined if it is not given. */
export function parsed<T>(
  values: OptionValues,
  name: string,
  parse: (text: string, option: string) => T,
): T | undefined {
  const value = text(values, name);
  return value === undefined ? undefined : parse(value, `--${name}`);
}

/** The lines of a help page that list the options. */
export function describe(specs: readonly OptionSpec[]): string {
  const heads = specs.map(({ name, short, value }) => {
    const long = value === undefined ? `--${name}` : `--${name} ${value}`;
    return short === undefined ? long : `-${short}, ${long}`;
  });
  const width = Math.max(...heads.map((head) => head.length));
  return specs.map(({ help }, index) => `  ${heads[index]!.padEnd(width)}  ${help}`).join('\n');
}
