import { UsageError } from '../formats/usage-error.ts';
import { isRemoteId, REMOTE_ID } from '../graph/remote/remote-options.ts';
import { type OptionSpec, type OptionValues, parsed, text } from './command-line.ts';

/** Where a queue is. */
export interface QueuePlace {
  /** The URL of the Redis server, which may hold a password. */
  readonly url: string;
  /** Name of the queue on this server; undefined for the usual one. */
  readonly queue: string | undefined;
  /** The folder for files that do not fit in Redis. */
  readonly folder: string | undefined;
}

/** Descriptions of the options that {@link parseQueue} parses. */
export const QUEUE_SPECS: readonly OptionSpec[] = [
  {
    name: 'queue',
    group: 'Queue',
    value: 'URL',
    help: 'the Redis server: redis://HOST:PORT or rediss://HOST:PORT (default: QUADRILLE_QUEUE)',
  },
  {
    name: 'queue-folder',
    group: 'Queue',
    value: 'DIR',
    help: 'a folder that all processes of the queue see (default: QUADRILLE_QUEUE_FOLDER)',
  },
  {
    name: 'queue-name',
    group: 'Queue',
    value: 'NAME',
    help: 'the name of the queue on this server (default: quadrille)',
  },
];

/** What the help of commands says about passwords. */
export const PASSWORD_HELP =
  'Put a URL with a password in QUADRILLE_QUEUE: all users of a machine can see the options of a command.';

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

function parseName(name: string, option: string): string {
  if (isRemoteId(name)) return name;
  throw new UsageError('usage/queue-name', `${option} ${name} is not a name.`, {
    expected: REMOTE_ID,
    got: name,
  });
}

/** Parses the id of a run. */
export function parseRun(run: string, option: string): string {
  if (isRemoteId(run)) return run;
  throw new UsageError('usage/run', `${option} ${run} is not the id of a run.`, {
    remedy: 'A run prints its id when it begins; quadrille queue list lists runs.',
  });
}

export function parseSeconds(value: string, option: string): number {
  const seconds = Number(value);
  if (/^\d+(\.\d+)?$/.test(value) && seconds > 0 && seconds <= MAX_SECONDS) return seconds;
  throw new UsageError('usage/seconds', `${option} ${value} is not a time in seconds.`, {
    expected: `a number above 0, at most ${MAX_SECONDS}`,
    got: value,
  });
}

/** Timers cannot wait longer: 24 days. */
const MAX_SECONDS = 2_000_000;
