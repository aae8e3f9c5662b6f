import { parseArgs } from 'node:util';
import { UsageError } from '../formats/usage-error.ts';
import { remedyFor, suggest } from '../primitives/checks/suggest.ts';
import { largestOf } from '../primitives/host/extremes.ts';

/** The groups in which help lists options, in this order. */
const GROUPS = [
  'Question',
  'Input',
  'Which cells',
  'Statistics',
  'Bins',
  'Tree',
  'Cells',
  'Measuring',
  'Jobs',
  'Output',
  'Queue',
  'Running',
] as const;

/** An option of a command. The parser and the help text use this description. */
export interface OptionSpec {
  readonly name: string;
  readonly group: (typeof GROUPS)[number];
  readonly short?: string;
  /** Name of the option's value in the help text. Undefined for a flag, which has no value. */
  readonly value?: string;
  readonly help: string;
  /** The allowed values; undefined if any value is allowed. */
  readonly choices?: readonly string[];
  /** Whether the option may be given several times. */
  readonly repeats?: boolean;
}

/** The values of the given options, by the names of the options. The value is a text, or true for a flag. */
export type OptionValues = ReadonlyMap<string, string | true>;

/** The parsed arguments of a command. */
export interface CommandWords {
  /** The positional arguments, which belong to no option. */
  readonly words: readonly string[];
  readonly values: OptionValues;
  /** For each option that may be given several times, all its values, by the name of the option. */
  readonly repeated: ReadonlyMap<string, readonly string[]>;
}

/** Parses the options of a command without positional arguments; see {@link readCommand}. */
export function readOptions(args: readonly string[], specs: readonly OptionSpec[]): OptionValues {
  return readCommand(args, specs, []).values;
}

/**
 * Parses options (`--name value` or `--name=value`), flags and positional arguments ("words"), in any order. `names`
 * are the names of the words. If the last name ends with `…`, there may be several words of this name. Everything after
 * `--` is a word.
 *
 * A value may begin with a single dash (`--nodata -9999`, `--bins -1:1:0.1`, `--out -`). A value that begins with two
 * dashes must be written `--name=--value`.
 *
 * @throws UsageError if an option is unknown (the error suggests the most similar one) or given twice; if a value is
 * missing, not allowed, or given to a flag; if there are too few or too many words.
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

/** What words are that name no file. */
const NAMED: Readonly<Record<string, string>> = { RUN: 'a run', SHELL: 'a shell' };

function missingWord(name: string, names: readonly string[]): UsageError {
  const remedy =
    names.length === 1
      ? `Name ${NAMED[name] ?? 'a file'} right after the command.`
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
  // Strict mode is off, because its error messages have no remedy, and it rejects values that begin with a dash.
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
  return new UsageError('usage/not-a-choice', `--${name} cannot be ${value}.`, {
    remedy: remedyFor(suggest(value, choices), `Choose from ${choices.join(', ')}.`),
  });
}

function unknownOption(rawName: string, specs: readonly OptionSpec[]): UsageError {
  const name = rawName.replace(/^-+/, '');
  const [by, how] = REPLACED[name] ?? [];
  if (specs.some((spec) => spec.name === by)) return replacedOption(name, by!, how!);
  const meant = suggest(
    name,
    specs.map(({ name }) => name),
  );
  return new UsageError('usage/unknown-option', `There is no option ${rawName}.`, {
    remedy: meant === undefined ? 'See --help for the options.' : `Did you mean --${meant}?`,
  });
}

/** Options that had another name: their new one, and what to write after it. */
const REPLACED: Readonly<Record<string, readonly [by: string, how: string]>> = {
  budget: ['memory', 'SIZE, which limits the memory for all data of the run'],
  top: ['limit', 'K'],
};

function replacedOption(name: string, by: string, how: string): UsageError {
  return new UsageError('usage/unknown-option', `There is no option --${name}; --${by} replaced it.`, {
    remedy: `Write --${by} ${how}.`,
  });
}

/** The error for a word that no option takes. */
export function strayWord(
  word: string,
  remedy = 'Put a value right after its option, and quote values that contain spaces, * or ?.',
): UsageError {
  return new UsageError('usage/stray-word', `The word '${word}' is neither an option nor the value of one.`, {
    remedy,
  });
}

/** The value of an option; undefined if the option is not given. */
export function text(values: OptionValues, name: string): string | undefined {
  const value = values.get(name);
  return value === true ? undefined : value;
}

/** The value of an option, converted by `parse`; undefined if the option is not given. */
export function parsed<T>(
  values: OptionValues,
  name: string,
  parse: (text: string, option: string) => T,
): T | undefined {
  const value = text(values, name);
  return value === undefined ? undefined : parse(value, `--${name}`);
}

/** Lists options for a help text by groups, one per line. */
export function describe(specs: readonly OptionSpec[]): string {
  const heads = new Map(specs.map((spec) => [spec, headOf(spec)]));
  const width = largestOf([...heads.values()].map((head) => head.length));
  return GROUPS.map((group) => {
    const lines = specs.filter((spec) => spec.group === group);
    if (lines.length === 0) return '';
    return `${group}:\n${lines.map((spec) => `  ${heads.get(spec)!.padEnd(width)}  ${spec.help}\n`).join('')}`;
  })
    .join('')
    .trimEnd();
}

function headOf({ name, short, value }: OptionSpec): string {
  const long = value === undefined ? `--${name}` : `--${name} ${value}`;
  return short === undefined ? long : `-${short}, ${long}`;
}

/** The option that disarms texts which a spreadsheet would take for formulas. */
export const QUOTE_FORMULAS_SPEC: OptionSpec = {
  name: 'csv-quote-formulas',
  group: 'Output',
  help: 'CSV: an apostrophe before texts that spreadsheets take for formulas (= + - @, tab or CR first)',
};
