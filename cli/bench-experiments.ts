import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { ELEMENT_TYPES, type Experiment, type ExperimentFile } from '../bench/harness/experiment.ts';
import { UsageError } from '../formats/usage-error.ts';
import { QuadrilleError } from '../primitives/errors.ts';
import { installRemedy } from '../primitives/optional-packages.ts';
import { suggest } from './suggest.ts';

/**
 * Loads the experiments of a user's module. The module's default export is an experiment, a list of experiments, or a
 * function that receives this library as its argument and returns experiments.
 *
 * @throws UsageError `bench/experiment-file` if the module cannot be loaded, `bench/experiment` if it exports no
 * experiment, `bench/experiment-failed` if a function of the module throws.
 */
export async function loadExperiments(file: string): Promise<readonly Experiment[]> {
  const exported = await importFile(file);
  const library = await import('../index.ts');
  const made = await (typeof exported === 'function'
    ? blaming(`The function of ${file}`, exported)(library)
    : exported);
  const experiments = (Array.isArray(made) ? made : [made]) as readonly Experiment[];
  for (const experiment of experiments) requireExperiment(experiment, file);
  return experiments.map((experiment) => withBlame(experiment, file));
}

/**
 * Wraps those functions of an experiment that are called outside of measurements, so that their errors name the file
 * and the function.
 */
function withBlame(experiment: Experiment, file: string): Experiment {
  const members = (['inputs', 'bytes', 'tolerance'] as const).flatMap((member) => {
    const call: ((...args: never[]) => unknown) | undefined = experiment[member]?.bind(experiment);
    if (call === undefined) return [];
    return [[member, { value: blaming(`${member} of ${experiment.name} in ${file}`, call) }]];
  });
  // The prototype provides all other members, such as methods of the user's class.
  return Object.create(experiment, Object.fromEntries(members)) as Experiment;
}

/** Wraps a user's function so that its errors name the function. */
function blaming<F extends (...args: never[]) => unknown>(what: string, call: F): F {
  const blamed = (...args: never[]): unknown => {
    try {
      return call(...args);
    } catch (cause) {
      if (cause instanceof QuadrilleError) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new UsageError('bench/experiment-failed', `${what} threw an error: ${reason}`, { cause });
    }
  };
  return blamed as F;
}

async function importFile(file: string): Promise<ExperimentFile | undefined> {
  const path = resolve(file);
  if (!existsSync(path)) throw unreadable(file, 'there is no such file');
  if (/\.[mc]?ts$/.test(path)) await useTypeScript(file);
  try {
    return (await import(pathToFileURL(path).href)).default;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw unreadable(file, reason, cause, cause instanceof SyntaxError ? await lineOfFault(path) : undefined);
  }
}

/**
 * Finds the line number of a syntax error with `node --check`, because the error that `import` throws does not contain
 * the number.
 */
async function lineOfFault(path: string): Promise<number | undefined> {
  const { stderr } = await promisify(execFile)(process.execPath, ['--check', path]).catch((error) => error);
  const [, line] = /^.*:(\d+)\n/.exec(stderr) ?? [];
  return line === undefined ? undefined : Number(line);
}

/**
 * Registers tsx, so that a module in TypeScript can be imported. Does nothing in a checkout of this library, which
 * already runs under tsx.
 */
async function useTypeScript(file: string): Promise<void> {
  if (import.meta.url.endsWith('.ts')) return;
  try {
    (await import('tsx/esm/api')).register();
  } catch (cause) {
    throw new UsageError(
      'bench/experiment-file',
      `${file} is TypeScript, which needs the package tsx; an .mjs file does not.`,
      {
        remedy: installRemedy(['tsx']),
        cause,
      },
    );
  }
}

function unreadable(file: string, reason: string, cause?: unknown, line?: number): UsageError {
  const what = line === undefined ? file : 'The module';
  return new UsageError('bench/experiment-file', `${what} cannot be loaded: ${reason.replace(/\.$/, '')}.`, {
    remedy: 'Name a module whose default export is an experiment or a list of experiments.',
    place: line === undefined ? undefined : { file, line },
    cause,
  });
}

const METHODS: readonly { readonly name: keyof Experiment; readonly needed: boolean }[] = [
  { name: 'inputs', needed: true },
  { name: 'run', needed: true },
  { name: 'upload', needed: false },
  { name: 'reference', needed: false },
  { name: 'bytes', needed: false },
  { name: 'plain', needed: false },
  { name: 'tolerance', needed: false },
];

function requireExperiment(experiment: Experiment | undefined, file: string): void {
  const fault = faultOf(experiment);
  if (fault === undefined) return;
  throw new UsageError('bench/experiment', `The default export of ${file} is not an experiment: ${fault}.`, {
    remedy: 'Export { name, inputs(case), run(columns, at) }, a list of these, or a function that returns them.',
  });
}

function faultOf(experiment: Experiment | undefined): string | undefined {
  if (typeof experiment !== 'object' || experiment === null)
    return `it is ${experiment === null ? 'null' : typeof experiment}`;
  const { name, types = [] } = experiment;
  if (typeof name !== 'string' || !/^[\w-]+$/.test(name)) return 'its name is not one word of letters, digits, - and _';
  if (!Array.isArray(types) || types.some((type) => !ELEMENT_TYPES.includes(type))) {
    return `types of ${name} must be among ${ELEMENT_TYPES.join(', ')}`;
  }
  const wrong = METHODS.find(({ name: method, needed }) => {
    const given = experiment[method];
    return given === undefined ? needed : typeof given !== 'function';
  });
  return wrong === undefined ? undefined : `${wrong.name} of ${name} is not a function`;
}

/**
 * Selects experiments by names or prefixes of names.
 *
 * @throws UsageError `bench/duplicate` if two experiments have the same name, `bench/no-experiment` if a requested name
 * matches no experiment.
 */
export function chooseExperiments(
  all: readonly Experiment[],
  only: readonly string[] | undefined,
): readonly Experiment[] {
  const names = all.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw new UsageError('bench/duplicate', `Two experiments are called ${twice}.`, { remedy: 'Rename yours.' });
  }
  if (only === undefined) return all;
  const stranger = only.find((part) => !names.some((name) => isMeant(name, part)));
  if (stranger !== undefined) {
    const meant = suggest(stranger, names);
    throw new UsageError('bench/no-experiment', `There is no experiment ${stranger}.`, {
      remedy: meant === undefined ? `There are ${names.join(', ')}.` : `Did you mean ${meant}?`,
    });
  }
  // If an element of `only` is the exact name of an experiment, it is not a prefix: `sort` does not select `sortByKey`.
  return all.filter(({ name }) => only.some((part) => (names.includes(part) ? name === part : isMeant(name, part))));
}

function isMeant(name: string, part: string): boolean {
  return name.toLowerCase().startsWith(part.toLowerCase());
}
