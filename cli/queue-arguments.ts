import { UsageError } from '../formats/usage-error.ts';
import { VOICE_SPECS, type VoiceOptions } from './arguments.ts';
import { type OptionSpec, type OptionValues, parsed, readCommand, text } from './command-line.ts';

/** Where a queue is. */
export interface QueuePlace {
  /** The URL of the Redis server, which may hold a password. */
  readonly url: string;
  /** Name of the queue on this server; undefined for the usual one. */
  readonly queue: string | undefined;
  /** The folder for files that do not fit in Redis. */
  readonly folder: string | undefined;
}

/** The parsed command line of `quadrille queue list`. */
export interface QueueListOptions extends QueuePlace, VoiceOptions {
  readonly json: boolean;
}

/** The parsed command line of `quadrille queue status` and `quadrille queue cancel`. */
export interface QueueRunOptions extends QueueListOptions {
  /** The id of a run. */
  readonly run: string;
}

/** Descriptions of the options that {@link parseQueue} parses. */
export const QUEUE_SPECS: readonly OptionSpec[] = [
  {
    name: 'queue',
    value: 'URL',
    help: 'the Redis server: redis://HOST:PORT or rediss://HOST:PORT (default: QUADRILLE_QUEUE)',
  },
  {
    name: 'queue-folder',
    value: 'DIR',
    help: 'a folder that all processes of the queue see (default: QUADRILLE_QUEUE_FOLDER)',
  },
  { name: 'queue-name', value: 'NAME', help: 'the name of the queue on this server (default: quadrille)' },
];

/** What the help of commands says about passwords. */
export const PASSWORD_HELP =
  'Put a URL with a password in QUADRILLE_QUEUE: all users of a machine can see the options of a command.';

const JSON_SPEC: OptionSpec = { name: 'json', help: 'one JSON object on stdout' };
export const QUEUE_LIST_SPECS: readonly OptionSpec[] = [
  ...QUEUE_SPECS.filter(({ name }) => name !== 'queue-folder'),
  JSON_SPEC,
  ...VOICE_SPECS,
];
export const QUEUE_CANCEL_SPECS: readonly OptionSpec[] = [...QUEUE_SPECS, JSON_SPEC, ...VOICE_SPECS];

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Parses the options of a queue. Options that are missing come from the environment.
 *
 * @returns Undefined if no queue is named.
 * @throws UsageError `usage/queue` for a URL of something else, `usage/queue-name` for a name with other characters than
 * letters, digits, `.`, `_` and `-`.
 */
export function parseQueue(values: OptionValues, environment: Environment = process.env): QueuePlace | undefined {
  const url = text(values, 'queue') ?? named(environment.QUADRILLE_QUEUE);
  if (url === undefined) return undefined;
  if (!URL.canParse(url) || !/^rediss?:$/.test(new URL(url).protocol)) throw notRedis();
  return {
    url,
    queue: parsed(values, 'queue-name', parseName),
    folder: text(values, 'queue-folder') ?? named(environment.QUADRILLE_QUEUE_FOLDER),
  };
}

/** Parses the options of a command that needs a queue. */
export function requireQueue(values: OptionValues): QueuePlace {
  const place = parseQueue(values);
  if (place !== undefined) return place;
  throw new UsageError('usage/missing-option', 'No queue is named.', {
    remedy:
      'Set QUADRILLE_QUEUE to the URL of a Redis server, such as redis://localhost:6379, or name it with --queue.',
  });
}

/** Returns the folder of a queue for a command that needs it. */
export function requireFolder({ folder }: QueuePlace): string {
  if (folder !== undefined) return folder;
  throw new UsageError('usage/missing-option', '--queue-folder is missing.', {
    remedy: 'Name a folder that all processes of the queue see, or set QUADRILLE_QUEUE_FOLDER.',
  });
}

/** An empty variable of the environment counts as none. */
function named(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

/** The error for a URL that cannot be one of Redis. It does not repeat the text, which may hold a password. */
function notRedis(): UsageError {
  return new UsageError('usage/queue', 'The queue is not the URL of a Redis server.', {
    expected: 'redis://HOST:PORT or rediss://HOST:PORT',
    remedy: 'Write it as redis://localhost:6379, with :PASSWORD@ before the host if there is one.',
  });
}

const NAME = /^\w[\w.-]*$/;

function parseName(name: string, option: string): string {
  if (NAME.test(name)) return name;
  throw new UsageError('usage/queue-name', `${option} ${name} is not a name.`, {
    expected: 'letters, digits, ., _ and -, the first of them a letter, a digit or _',
    got: name,
  });
}

/**
 * Parses the arguments after `quadrille queue list`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseQueueListArguments(args: readonly string[]): QueueListOptions {
  const { values } = readCommand(args, QUEUE_LIST_SPECS, []);
  return { ...requireQueue(values), ...voiceOf(values) };
}

/**
 * Parses the arguments after `quadrille queue status`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseQueueStatusArguments(args: readonly string[]): QueueRunOptions {
  return runOptions(args, QUEUE_LIST_SPECS);
}

/**
 * Parses the arguments after `quadrille queue cancel`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseQueueCancelArguments(args: readonly string[]): QueueRunOptions {
  return runOptions(args, QUEUE_CANCEL_SPECS);
}

function runOptions(args: readonly string[], specs: readonly OptionSpec[]): QueueRunOptions {
  const { words, values } = readCommand(args, specs, ['RUN']);
  return { run: words[0]!, ...requireQueue(values), ...voiceOf(values) };
}

function voiceOf(values: OptionValues): VoiceOptions & { readonly json: boolean } {
  return { json: values.has('json'), jsonLog: values.has('json-log'), quiet: values.has('quiet') };
}
