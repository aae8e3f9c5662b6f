import { JSON_SPEC, parseVoice, VOICE_SPECS, type VoiceOptions } from './arguments.ts';
import { type OptionSpec, type OptionValues, readCommand } from './command-line.ts';
import { QUEUE_SPECS, type QueuePlace, requireQueue } from './queue-options.ts';

/** The parsed command line of `quadrille queue list`. */
export interface QueueListOptions extends QueuePlace, VoiceOptions {
  readonly json: boolean;
}

/** The parsed command line of `quadrille queue status` and `quadrille queue cancel`. */
export interface QueueRunOptions extends QueueListOptions {
  /** The id of a run. */
  readonly run: string;
}

export const QUEUE_LIST_SPECS: readonly OptionSpec[] = [
  ...QUEUE_SPECS.filter(({ name }) => name !== 'queue-folder'),
  JSON_SPEC,
  ...VOICE_SPECS,
];
export const QUEUE_CANCEL_SPECS: readonly OptionSpec[] = [...QUEUE_SPECS, JSON_SPEC, ...VOICE_SPECS];

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
  return { json: values.has('json'), ...parseVoice(values) };
}
