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
 * The experiments of a user's file: its default export, one or several, or a function that makes them of this library.
 *
 * @throws UsageError `bench/experiment-file` where there is no such module, `bench/experiment` where what it exports is none,
 * `bench/experiment-failed` where a function of the module throws.
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

/** An experiment that says of what it throws outside of any candidate where that comes from. */
function withBlame(experiment: Experiment, file: string): Experiment {
  const members = (['inputs', 'bytes', 'tolerance'] as const).flatMap((member) => {
    const call: ((...args: never[]) => unknown) | undefined = experiment[member]?.bind(experiment);
    if (call === undefined) return [];
    return [[member, { value: blaming(`${member} of ${experiment.name} in ${file}`, call) }]];
  });
  // The rest is the user's, methods of a class included.
  return Object.create(experiment, Object.fromEntries(members)) as Experiment;
}

/** A function of a user's whose errors say that it is. */
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

/** The line in which Node finds no JavaScript; an import does not tell it. */
async function lineOfFault(path: string): Promise<number | undefined> {
  const { stderr } = await promisify(execFile)(process.execPath, ['--check', path]).catch((error) => error);
  const [, line] = /^.*:(\d+)\n/.exec(stderr) ?? [];
  return line === undefined ? undefined : Number(line);
}

/** Sources of this library run under tsx already; an installed package needs it for files of users. */
async function useTypeScript(file: string): Promise<void> {
  if (import.meta.url.endsWith('.ts')) return;
  try {
    (await import('tsx/esm/api')).register();
  } catch (cause) {
    throw new UsageError(
      'bench/experiment-file',
      `${file} is TypeScript, which needs the package tsx; an experiment in .mjs needs none.`,
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
    remedy: 'Name a module that has experiments for its default export.',
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
  throw new UsageError('bench/experiment', `${file} has no experiment for its default export: ${fault}.`, {
    remedy: 'Export { name, inputs(case), run(columns, at) }, a list of such, or a function that returns them.',
  });
}

function faultOf(experiment: Experiment | undefined): string | undefined {
  if (typeof experiment !== 'object' || experiment === null)
    return `it is ${experiment === null ? 'null' : typeof experiment}`;
  const { name, types = [] } = experiment;
  if (typeof name !== 'string' || !/^[\w-]+$/.test(name)) return 'its name is not one word of letters, digits, - and _';
  if (!Array.isArray(types) || types.some((type) => !ELEMENT_TYPES.includes(type))) {
    return `types of ${name} are not among ${ELEMENT_TYPES.join(', ')}`;
  }
  const wrong = METHODS.find(({ name: method, needed }) => {
    const given = experiment[method];
    return given === undefined ? needed : typeof given !== 'function';
  });
  return wrong === undefined ? undefined : `${wrong.name} of ${name} is no function`;
}

/**
 * Those of the experiments whose names are asked for.
 *
 * @throws UsageError `bench/duplicate` for two of one name, `bench/no-experiment` for a name that is none.
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
  // A whole name means itself alone: `sort` is not `sortByKey`.
  return all.filter(({ name }) => only.some((part) => (names.includes(part) ? name === part : isMeant(name, part))));
}

function isMeant(name: string, part: string): boolean {
  return name.toLowerCase().startsWith(part.toLowerCase());
}
