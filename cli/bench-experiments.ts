import { ELEMENT_TYPES, type Experiment, type ExperimentFile } from '../bench/harness/experiment.ts';
import { UsageError } from '../formats/usage-error.ts';
import { QuadrilleError } from '../primitives/checks/errors.ts';
import { messageOf } from '../primitives/checks/message-of.ts';
import { remedyFor, suggest } from '../primitives/checks/suggest.ts';
import { importFile } from './import-file.ts';

/**
 * Loads the experiments of a user's module. The module's default export is an experiment, a list of experiments, or a
 * function that receives this library as its argument and returns experiments.
 *
 * @throws UsageError `bench/experiment-file` if the module cannot be loaded, `bench/experiment` if it exports no
 * experiment, `bench/experiment-failed` if a function of the module throws.
 */
export async function loadExperiments(file: string): Promise<readonly Experiment[]> {
  const { default: exported } = (await importFile(file, {
    code: 'bench/experiment-file',
    remedy: 'Name a module whose default export is an experiment or a list of experiments.',
  })) as { readonly default?: ExperimentFile };
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
      throw new UsageError('bench/experiment-failed', `${what} threw an error: ${messageOf(cause)}`, { cause });
    }
  };
  return blamed as F;
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
    throw new UsageError('bench/no-experiment', `There is no experiment ${stranger}.`, {
      remedy: remedyFor(suggest(stranger, names), `There are ${names.join(', ')}.`),
    });
  }
  // If an element of `only` is the exact name of an experiment, it is not a prefix: `sort` does not select `sortByKey`.
  return all.filter(({ name }) => only.some((part) => (names.includes(part) ? name === part : isMeant(name, part))));
}

function isMeant(name: string, part: string): boolean {
  return name.toLowerCase().startsWith(part.toLowerCase());
}
