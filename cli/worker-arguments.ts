import { UsageError } from '../formats/usage-error.ts';
import { COMPUTE_SPECS, type ComputeOptions, parseBackend, parseCompute } from './arguments.ts';
import { type OptionSpec, type OptionValues, parsed, readCommand } from './command-line.ts';
import { QUEUE_SPECS, type QueuePlace, requireFolder, requireQueue } from './queue-options.ts';
import { parseCount } from './values.ts';

/** The parsed command line of `quadrille worker`. The modules that it names have not been loaded. */
export interface WorkerOptions extends QueuePlace, ComputeOptions {
  readonly folder: string;
  /** The card to open, by the number that `quadrille devices` gives it. */
  readonly gpu: number | undefined;
  /** Number of jobs at the same time. */
  readonly lanes: number;
  /** Paths of modules by their ids. */
  readonly modules: ReadonlyMap<string, string>;
}

export const WORKER_SPECS: readonly OptionSpec[] = [
  ...QUEUE_SPECS,
  {
    name: 'module',
    group: 'Jobs',
    value: 'ID=PATH',
    help: 'a module whose exported functions jobs may call by this id; again for several',
    repeats: true,
  },
  { name: 'lanes', group: 'Jobs', value: 'N', help: 'number of jobs at the same time (default 1)' },
  { name: 'gpu', group: 'Jobs', value: 'N', help: 'the GPU with this number in quadrille devices' },
  ...COMPUTE_SPECS,
];

/**
 * Parses the arguments after `quadrille worker`.
 *
 * @throws UsageError if the arguments are invalid.
 */
export function parseWorkerArguments(args: readonly string[]): WorkerOptions {
  const { values, repeated } = readCommand(args, WORKER_SPECS, []);
  const place = requireQueue(values);
  return {
    ...place,
    folder: requireFolder(place),
    modules: parseModules(repeated.get('module') ?? []),
    lanes: parsed(values, 'lanes', parseCount) ?? 1,
    gpu: parseGpu(values),
    ...parseCompute(values),
  };
}

/** Ids of modules that belong to the commands. */
const OWN_MODULES = 'quadrille.';

function parseModules(given: readonly string[]): ReadonlyMap<string, string> {
  const modules = new Map<string, string>();
  for (const each of given) {
    const [, id = '', path = ''] = /^([\w.-]+)=(.+)$/.exec(each) ?? [];
    if (path === '') {
      throw new UsageError('usage/module', `--module ${each} is not of the form ID=PATH.`, {
        expected: 'an id of letters, digits, ., _ and -, then = and the path of a file',
        got: each,
        remedy: 'Write it as --module masks=./masks.mjs.',
      });
    }
    if (id.startsWith(OWN_MODULES)) {
      throw new UsageError('usage/module', `--module ${each}: ids that begin with ${OWN_MODULES} are taken.`, {
        remedy: 'Choose another id, and use it in the program that opens the run too.',
      });
    }
    if (modules.has(id))
      throw new UsageError('usage/module', `Two modules have the id ${id}.`, { remedy: 'Rename one.' });
    modules.set(id, path);
  }
  return modules;
}

function parseGpu(values: OptionValues): number | undefined {
  const gpu = parsed(values, 'gpu', parseCardNumber);
  if (gpu === undefined) return undefined;
  const { backend, adapter, workers } = parseBackend(values);
  const [against] = [
    ...(backend === 'auto' || backend === 'webgpu' ? [] : [`--backend ${backend}`]),
    ...(adapter === 'software' ? ['--adapter software'] : []),
    ...(workers === undefined ? [] : ['--workers']),
  ];
  if (against === undefined) return gpu;
  throw new UsageError('usage/contradiction', `--gpu has no effect with ${against}.`, {
    remedy: 'Leave one of them out.',
  });
}

function parseCardNumber(value: string, option: string): number {
  if (/^\d{1,4}$/.test(value)) return Number(value);
  throw new UsageError('usage/gpu', `${option} ${value} is not the number of a GPU.`, {
    expected: 'a whole number from 0',
    got: value,
    remedy: 'quadrille devices lists the numbers.',
  });
}
