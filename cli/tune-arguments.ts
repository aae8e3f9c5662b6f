import { ADAPTER_SPEC, type AdapterChoice, parseVoice, VOICE_SPECS, type VoiceOptions } from './arguments.ts';
import { parseSize, TUNING_SPEC } from './bench-arguments.ts';
import { type OptionSpec, parsed, readOptions, text } from './command-line.ts';
import { MEMORY_SPEC, type MemoryOptions, parseMemory } from './memory.ts';
import { checkEnding, parseCount, parsePositive } from './values.ts';

/** The parsed command line of `quadrille tune`. The files that it names have not been opened. */
export interface TuneOptions extends MemoryOptions, VoiceOptions {
  readonly adapter: AdapterChoice;
  /** Path of a file with the tuning at which the search starts. */
  readonly tuning: string | undefined;
  /** Number of elements with which kernels are measured; undefined for the default. */
  readonly size: number | undefined;
  readonly rounds: number;
  /** Time in seconds after which no further candidate is measured. */
  readonly seconds: number;
  /** Names of the settings to tune; undefined for all settings. */
  readonly only: readonly string[] | undefined;
  /** Path of the output, or `-` for stdout. */
  readonly out: string;
}

const DEFAULT_ROUNDS = 7;
const DEFAULT_SECONDS = 600;

export const TUNE_SPECS: readonly OptionSpec[] = [
  ADAPTER_SPEC,
  { ...TUNING_SPEC, help: 'the tuning to start from' },
  {
    name: 'only',
    group: 'Measuring',
    value: 'A,B…',
    help: 'parts of a tuning, such as scan or sort.sweep (default: all)',
  },
  {
    name: 'size',
    group: 'Measuring',
    value: 'N',
    help: 'elements to measure over (default 2^24; 2^14 on a software adapter)',
  },
  { name: 'rounds', group: 'Measuring', value: 'N', help: `rounds of every candidate (default ${DEFAULT_ROUNDS})` },
  {
    name: 'seconds',
    group: 'Measuring',
    value: 'S',
    help: `start no new candidate after this time (default ${DEFAULT_SECONDS})`,
  },
  { name: 'out', group: 'Output', short: 'o', value: 'FILE.json', help: 'the entry; - is stdout (default)' },
  MEMORY_SPEC,
  ...VOICE_SPECS,
];

/**
 * Parses the arguments after `quadrille tune`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseTuneArguments(args: readonly string[]): TuneOptions {
  const values = readOptions(args, TUNE_SPECS);
  const out = text(values, 'out') ?? '-';
  checkEnding(out, '--out', 'json');
  return {
    adapter: (text(values, 'adapter') as AdapterChoice | undefined) ?? 'auto',
    tuning: text(values, 'tuning'),
    only: text(values, 'only')?.split(',').filter(Boolean),
    size: parsed(values, 'size', parseSize),
    rounds: parsed(values, 'rounds', parseCount) ?? DEFAULT_ROUNDS,
    seconds: parsed(values, 'seconds', parsePositive) ?? DEFAULT_SECONDS,
    out,
    ...parseMemory(values),
    ...parseVoice(values),
  };
}
