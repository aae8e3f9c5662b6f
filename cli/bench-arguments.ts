import type { ElementType } from '../bench/harness/experiment.ts';
import { UsageError } from '../formats/usage-error.ts';
import { remedyFor, suggest } from '../primitives/checks/suggest.ts';
import {
  ADAPTER_SPEC,
  type AdapterChoice,
  parseVoice,
  VOICE_SPECS,
  type VoiceOptions,
  WORKERS_SPEC,
} from './arguments.ts';
import { type OptionSpec, parsed, readCommand, strayWord, text } from './command-line.ts';
import { counted } from './grouped.ts';
import { MEMORY_SPEC, type MemoryOptions, parseMemory } from './memory.ts';
import { parseCount } from './values.ts';

export type BenchBackend = 'workers' | 'webgpu' | 'reference';

/** The kinds of files that `quadrille bench` can write to the folder of `--out`. */
export type BenchOutput = 'csv' | 'json' | 'html' | 'svg';

/** The parsed command line of `quadrille bench`. The files that it names have not been opened. */
export interface BenchOptions extends MemoryOptions, VoiceOptions {
  /** Names of experiments, or prefixes of names; undefined for all experiments. */
  readonly only: readonly string[] | undefined;
  /** Paths of modules with the user's own experiments. */
  readonly experiments: readonly string[];
  /** Backends to measure. Undefined for the default: workers, and webgpu if there is a hardware GPU. */
  readonly backends: readonly BenchBackend[] | undefined;
  readonly adapter: AdapterChoice;
  readonly workers: number | undefined;
  /** Path of a file with a tuning of the WebGPU kernels. */
  readonly tuning: string | undefined;
  readonly sizes: readonly number[];
  /** Element types. Undefined for u32, or the first type of an experiment without it. */
  readonly types: readonly ElementType[] | undefined;
  readonly rounds: number;
  readonly checkUpTo: number | undefined;
  readonly peers: readonly string[];
  /** Whether the user named the peers (other libraries to measure). If so, a missing peer is reported. */
  readonly peersAsked: boolean;
  readonly compiled: ReadonlyMap<string, string>;
  /** Folder for the output files; undefined to write to stdout. */
  readonly out: string | undefined;
  readonly outputs: readonly BenchOutput[];
  readonly list: boolean;
}

const BACKENDS = ['workers', 'webgpu', 'reference'] as const;
const TYPES = ['u32', 'i32', 'f32'] as const;
const PEERS = ['javascript', 'cpp', 'cuda', 'duckdb', 'arquero', 'luma'] as const;
const OUTPUTS = ['csv', 'json', 'html', 'svg'] as const;
const DEFAULT_SIZES = [2 ** 10, 2 ** 14, 2 ** 18, 2 ** 21];
const DEFAULT_ROUNDS = 7;

/** Description of the option `--tuning`, whose value is the path of a file that `quadrille tune` has written. */
export const TUNING_SPEC: OptionSpec = {
  name: 'tuning',
  group: 'Measuring',
  value: 'FILE.json',
  help: 'tuning of WebGPU kernels, as quadrille tune writes it',
};

export const BENCH_SPECS: readonly OptionSpec[] = [
  {
    name: 'only',
    group: 'Measuring',
    value: 'A,B…',
    help: 'experiments with these names or prefixes of names (default: all)',
  },
  {
    name: 'experiment',
    group: 'Measuring',
    value: 'FILE',
    help: 'a module with your own experiments (.mjs, .js or .ts); may be given several times',
    repeats: true,
  },
  {
    name: 'backends',
    group: 'Measuring',
    value: 'A,B…',
    help: 'some of workers, webgpu and reference (default: workers, and webgpu on a hardware GPU)',
  },
  ADAPTER_SPEC,
  WORKERS_SPEC,
  TUNING_SPEC,
  {
    name: 'sizes',
    group: 'Measuring',
    value: 'N,A..B…',
    help: 'numbers of elements, such as 1000, 2^20, 2^10..2^24 or 2^10..2^24:2 (default 2^10,2^14,2^18,2^21)',
  },
  {
    name: 'types',
    group: 'Measuring',
    value: 'A,B…',
    help: 'some of u32, i32 and f32 (default u32, or the first that an experiment has)',
  },
  { name: 'rounds', group: 'Measuring', value: 'N', help: `rounds of every case (default ${DEFAULT_ROUNDS})` },
  {
    name: 'check-up-to',
    group: 'Measuring',
    value: 'N',
    help: 'compare answers with the reference up to this number of elements (default: all)',
  },
  {
    name: 'peers',
    group: 'Measuring',
    value: 'A,B…',
    help: `some of ${PEERS.join(', ')}, or all or none (default: all installed)`,
  },
  {
    name: 'compiled',
    group: 'Measuring',
    value: 'PEER=FILE',
    help: 'the program of cpp or cuda, if it was compiled elsewhere; may be given twice',
    repeats: true,
  },
  {
    name: 'out',
    group: 'Output',
    short: 'o',
    value: 'FOLDER',
    help: 'folder for bench.csv, bench.json, bench.html and bench-*.svg',
  },
  { name: 'csv', group: 'Output', help: 'write the CSV file; without --out, CSV on stdout' },
  { name: 'json', group: 'Output', help: 'write the JSON file; without --out, JSON on stdout' },
  { name: 'html', group: 'Output', help: 'write the report' },
  { name: 'svg', group: 'Output', help: 'write the plots' },
  { name: 'list', group: 'Measuring', help: 'list the experiments and exit' },
  MEMORY_SPEC,
  ...VOICE_SPECS,
];

/**
 * Parses the arguments after `quadrille bench`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseBenchArguments(args: readonly string[]): BenchOptions {
  const [first] = args;
  if (first !== undefined && !first.startsWith('-'))
    throw strayWord(first, `Write --only ${first} for one experiment, and --list for their names.`);
  const { values, repeated } = readCommand(args, BENCH_SPECS, []);
  const options: BenchOptions = {
    only: text(values, 'only')?.split(',').filter(Boolean),
    experiments: repeated.get('experiment') ?? [],
    backends: parsed(values, 'backends', (list, option) => parseChoices(list, option, BACKENDS)),
    adapter: (text(values, 'adapter') as AdapterChoice | undefined) ?? 'auto',
    workers: parsed(values, 'workers', parseCount),
    tuning: text(values, 'tuning'),
    sizes: parsed(values, 'sizes', parseSizes) ?? DEFAULT_SIZES,
    types: parsed(values, 'types', (list, option) => parseChoices(list, option, TYPES)),
    rounds: parsed(values, 'rounds', parseCount) ?? DEFAULT_ROUNDS,
    checkUpTo: parsed(values, 'check-up-to', (part, option) => (part === '0' ? 0 : parseSize(part, option))),
    peers: parsed(values, 'peers', parsePeers) ?? PEERS,
    peersAsked: ![undefined, 'all', 'none'].includes(text(values, 'peers')),
    compiled: parseCompiled(repeated.get('compiled') ?? []),
    out: text(values, 'out'),
    outputs: OUTPUTS.filter((name) => values.has(name)),
    list: values.has('list'),
    ...parseMemory(values),
    ...parseVoice(values),
  };
  checkWhereTo(options);
  checkAdapter(options, values.has('adapter'));
  return options;
}

/** Parses a list such as `a,b`. Every name must occur in `choices`. */
function parseChoices<C extends string>(list: string, option: string, choices: readonly C[]): C[] {
  const names = [...new Set(list.split(',').map((name) => name.trim()))];
  const stranger = names.find((name) => !(choices as readonly string[]).includes(name));
  if (stranger === undefined) return names as C[];
  throw new UsageError('usage/not-a-choice', `${option} cannot have ${stranger === '' ? 'an empty name' : stranger}.`, {
    remedy: remedyFor(suggest(stranger, choices), `Choose from ${choices.join(', ')}.`),
  });
}

function parsePeers(list: string, option: string): readonly string[] {
  if (list === 'all') return PEERS;
  return list === 'none' ? [] : parseChoices(list, option, PEERS);
}

const MAX_ELEMENTS = 2 ** 32;
const MAX_SIZES = 100;

/**
 * Parses a list of sizes: numbers (`1000`), powers (`2^20`), and ranges of powers of two (`2^10..2^24`, or
 * `2^10..2^24:2` with a step of 2 for the exponent). Returns the sizes in ascending order.
 */
export function parseSizes(list: string, option: string): number[] {
  const sizes = list
    .split(',')
    .flatMap((part) => (part.includes('..') ? parseRange(part, option) : [parseSize(part, option)]));
  if (sizes.length > MAX_SIZES) {
    throw new UsageError('usage/sizes', `${option} ${list} gives ${counted(sizes.length, 'size')}.`, {
      remedy: `Give at most ${MAX_SIZES}.`,
    });
  }
  return [...new Set(sizes)].sort((a, b) => a - b);
}

/** Parses a number of elements, such as `1000` or `2^20`. */
export function parseSize(part: string, option: string): number {
  const [, base, power] = /^\s*(\d+)(?:\^(\d+))?\s*$/.exec(part) ?? [];
  const size = base === undefined ? Number.NaN : Number(base) ** Number(power ?? 1);
  if (Number.isInteger(size) && size >= 1 && size < MAX_ELEMENTS) return size;
  throw new UsageError('usage/size', `${option}: '${part}' is not a number of elements.`, {
    remedy: 'Write a number below 2^32, such as 1000 or 2^20, or a range such as 2^10..2^24 or 2^10..2^24:2.',
  });
}

function parseRange(part: string, option: string): number[] {
  const [, low, high, step = '1'] = /^\s*2\^(\d+)\.\.2\^(\d+)(?::(\d+))?\s*$/.exec(part) ?? [];
  const [from, to, by] = [Number(low), Number(high), Number(step)];
  if (low === undefined || from > to || by < 1 || to > 31) {
    throw new UsageError('usage/size', `${option}: '${part}' is not a range of sizes.`, {
      remedy: 'Write an ascending range below 2^32, such as 2^10..2^24, or 2^10..2^24:2 for every second power.',
    });
  }
  return Array.from({ length: Math.floor((to - from) / by) + 1 }, (_, i) => 2 ** (from + i * by));
}

const COMPILED_PEERS: readonly string[] = ['cpp', 'cuda'];

function parseCompiled(entries: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    entries.map((entry) => {
      const [, peer = '', file = ''] = /^([^=]+)=(.+)$/.exec(entry) ?? [];
      if (COMPILED_PEERS.includes(peer)) return [peer, file];
      throw new UsageError('usage/compiled', `--compiled ${entry} is not of the form PEER=FILE.`, {
        remedy: 'Write it as --compiled cuda=./primitives or --compiled cpp=./primitives.',
      });
    }),
  );
}

/** Throws if several tables would go to stdout, or if a report or plots are requested without a folder. */
function checkWhereTo({ out, outputs }: BenchOptions): void {
  if (out !== undefined || outputs.length === 0) return;
  const files = outputs.filter((name) => name === 'html' || name === 'svg');
  if (files.length > 0) {
    throw new UsageError('usage/missing-option', `--${files[0]} needs a folder.`, {
      remedy: 'Name one with --out FOLDER.',
    });
  }
  if (outputs.length === 2) {
    throw new UsageError('usage/stdout-twice', '--csv and --json cannot both write to stdout.', {
      remedy: 'Leave one of them out, or name a folder with --out FOLDER.',
    });
  }
}

function checkAdapter({ backends }: BenchOptions, given: boolean): void {
  if (!given || backends === undefined || backends.includes('webgpu')) return;
  throw new UsageError('usage/contradiction', `--adapter has no effect with --backends ${backends.join(',')}.`, {
    remedy: 'Leave one of them out, or add webgpu to --backends.',
  });
}
