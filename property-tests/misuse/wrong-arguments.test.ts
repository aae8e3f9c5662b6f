import { describe, expect, test } from 'vitest';
import { isPlain } from '../../primitives/checks/given.ts';
import { Column, type Context, isFunctor, QuadrilleError } from '../../primitives/index.ts';
import { someOf } from '../cases.ts';
import { entries } from '../support/entry-sources.ts';
import { algorithmCalls } from '../valid-calls/algorithms.ts';
import { backendCalls } from '../valid-calls/backends.ts';
import { formatCalls } from '../valid-calls/formats.ts';
import { callOfFunctor, functorCalls } from '../valid-calls/functors.ts';
import { graphCalls } from '../valid-calls/graph.ts';
import { primitiveCalls } from '../valid-calls/primitives.ts';
import { propertyTestCalls } from '../valid-calls/property-tests.ts';
import {
  type Arguments,
  called,
  context,
  foreign,
  garbage,
  isAlike,
  nameOf,
  partAt,
  pathsIn,
  type ValidCall,
  type ValidCalls,
} from '../valid-calls/valid-call.ts';

type Call = (...args: unknown[]) => unknown;

/** All callable exports of the package. An export of several entry points is listed under the first of them. */
async function exportedCalls(): Promise<Map<string, Call>> {
  const found = new Map<string, Call>();
  const seen = new Set<unknown>();
  for (const { source } of entries()) {
    const module: Record<string, unknown> = await import(source);
    for (const [name, value] of Object.entries(module)) {
      if (typeof value !== 'function' || seen.has(value)) continue;
      seen.add(value);
      if (!isClass(value)) found.set(name, value as Call);
      else for (const [own, call] of callsOfClass(name, value)) found.set(own, call);
    }
  }
  return found;
}

function isClass(value: object): boolean {
  return /^class\b/.test(Function.prototype.toString.call(value));
}

/** The names of a class's methods that take arguments. */
function methodsOf(prototype: object): string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function' && value.length > 0)
    .map(([name]) => name);
}

function callsOfClass(name: string, made: object): [string, Call][] {
  const Class = made as new (...args: unknown[]) => object;
  const creation: [string, Call] = [`new ${name}`, (...args: unknown[]) => new Class(...args)];
  return [creation, ...methodsOf(Class.prototype).map((method): [string, Call] => [`${name}.${method}`, creation[1]])];
}

const exported = await exportedCalls();
const functors = [...exported].filter(([, call]) => isFunctor(call));
const tables: ValidCalls = {
  ...primitiveCalls,
  ...functorCalls,
  ...Object.fromEntries(functors.map(([name, functor]) => [name, callOfFunctor(functor as never)])),
  ...backendCalls,
  ...graphCalls,
  ...algorithmCalls,
  ...formatCalls,
  ...propertyTestCalls,
};

const AN_ERROR = 'an error is made of whatever it is given, so that making it hides nothing';
const MADE_INSIDE = 'only the library makes one, for every operand of a functor or every result';
const NEEDS_REDIS = 'needs a Redis server; its arguments are in misuse-queues.test.ts';
const NO_ARGUMENTS = 'takes no argument';
/** Exports that are not tested here, each with the reason. */
const EXEMPT: { readonly [name: string]: string } = {
  ...Object.fromEntries(
    [...exported.keys()].filter((name) => /^new \w+(Error|Warning)$/.test(name)).map((name) => [name, AN_ERROR]),
  ),
  ...Object.fromEntries(['Column', 'Neighbours', 'NeighboursParameter'].map((name) => [`new ${name}`, MADE_INSIDE])),
  'Context.allocateFor': 'only the library calls it',
  'Context.materializeOnce': 'only the library calls it',
  'Context.step': 'only the library calls it',
  'Neighbours.at': 'a value of a functor: see functor-builder.test.ts',
  Break: NO_ARGUMENTS,
  Continue: NO_ARGUMENTS,
  listDevices: NO_ARGUMENTS,
  openTestGpu: NO_ARGUMENTS,
  testAdapter: NO_ARGUMENTS,
  useSoftwareVulkan: NO_ARGUMENTS,
  createWebGpuBackend: 'needs a device; its options are in misuse-backends.test.ts',
  openNodeGpu: 'needs a device; its adapter is in misuse-backends.test.ts',
  ...Object.fromEntries(['redisQueue', 'serveQueue', 'listRuns', 'cancelRun'].map((name) => [name, NEEDS_REDIS])),
};

/** Number of kinds of garbage that are tried for each argument by default. */
const GARBAGE_PER_ARGUMENT = 3;
const OTHERS_MEMORY = 'gives back memory that is not its own';
/**
 * Maximum number of times that a call is tried. Garbage collection may free stored views of earlier calls during a
 * call, which then seems to free memory that is not its own. This seldom happens repeatedly.
 */
const TRIES = 5;

/** Describes how a call with garbage as an argument misbehaves. Undefined if the call fails as it should. */
async function flawOf(
  call: Call,
  args: Arguments,
  path: readonly string[],
  given: unknown,
  unnamed: boolean,
): Promise<string | undefined> {
  const valid = partAt(args, path);
  const names = path.filter((name) => !/^\d+$/.test(name));
  const name = names.at(-1)!;
  const spoiled = Object.values(called(args, path, given) as Arguments);
  const { liveBuffers } = context.backend.counters;
  let error: unknown;
  try {
    await settled(call(...spoiled));
  } catch (thrown) {
    error = thrown;
  }
  if (error === undefined) {
    const isLiteral = unnamed && (typeof given === 'number' || typeof given === 'boolean');
    return isLiteral || mayBeTaken(given, valid, name) ? undefined : 'is taken';
  }
  if (!(error instanceof QuadrilleError)) return `ends in ${error}`;
  if (!/^[a-z0-9]+(-[a-z0-9]+)*\/[a-z0-9-]+$/.test(error.code)) return `has the code ${error.code}`;
  const mayName = unnamed || !mustBeNamed(given, valid, error) || [name, ...fieldsOf(valid)];
  if (mayName !== true && !mayName.some((each) => (error as Error).message.includes(nameOf(each))))
    return `does not name it: ${error.message}`;
  const change = context.backend.counters.liveBuffers - liveBuffers;
  if (change > 0) return 'takes memory that it does not give back';
  if (change < 0) return OTHERS_MEMORY;
  return undefined;
}

/**
 * The names of the fields of a valid record. If the whole record is missing, the error may name the first of these
 * fields.
 */
function fieldsOf(valid: unknown): string[] {
  return typeof valid === 'object' && valid !== null && !Array.isArray(valid) ? Object.keys(valid) : [];
}

/**
 * Awaits a result. If the result is a generator, awaits its first value. If the result has a `close` method, calls this
 * method.
 */
async function settled(result: unknown): Promise<void> {
  const awaited = await (result as Promise<unknown>);
  const { next, close } = (awaited ?? {}) as Partial<AsyncGenerator & { close(): unknown }>;
  if (typeof next === 'function') await (awaited as AsyncGenerator).next();
  if (typeof close === 'function' && awaited !== context && awaited !== foreign) await (awaited as Context).close();
}

/**
 * Whether the error must name the argument. This is not required for values of the right kind that are wrong in another
 * way, such as a table without columns, or a column whose type does not suit the monoid.
 */
function mustBeNamed(given: unknown, valid: unknown, { code }: QuadrilleError): boolean {
  return code !== 'column/contexts' && !isAlike(given, valid) && !(valid instanceof Column && mayBeTable(given));
}

function mayBeTable(given: unknown): boolean {
  return given instanceof Column || (typeof given === 'object' && given !== null && Object.keys(given).length === 0);
}

function mayBeTaken(given: unknown, valid: unknown, name: string): boolean {
  if (name.endsWith('?') && given === undefined) return true;
  return isAlike(given, valid) || (name.endsWith('*') && mayBeTable(given) && isPlain(given as object));
}

describe('every call', () => {
  test('is of an export, and every export has a call', () => {
    const names = Object.keys(tables);
    expect([...exported.keys()].filter((name) => !names.includes(name) && !(name in EXEMPT))).toEqual([]);
    expect(Object.keys(EXEMPT).filter((name) => !exported.has(name))).toEqual([]);
  });
});

describe.each(Object.entries(tables))('%s', (name, valid) => {
  const {
    args,
    call = exported.get(name),
    takes = {},
    unnamed,
  }: ValidCall = typeof valid === 'function' ? { args: valid } : valid;

  test('succeeds', async () => {
    await settled((call as Call)(...Object.values(called(args(), undefined, undefined) as Arguments)));
  });

  test('throws an error that names the wrong argument, for any wrong value', async () => {
    const flaws: string[] = [];
    for (const path of pathsIn(args())) {
      for (const [what, make] of someOf(Object.entries(garbage), GARBAGE_PER_ARGUMENT)) {
        const at = path.map(nameOf).join('.');
        if ('*' in takes || at in takes || `${at}: ${what}` in takes) continue;
        const own = args();
        const valid = partAt(own, path);
        if (path.at(-1)!.endsWith('*') && what.startsWith('a column')) continue;
        let flaw = await flawOf(call as Call, own, path, make(valid), unnamed !== undefined);
        for (let tries = 1; flaw === OTHERS_MEMORY && tries < TRIES; tries++) {
          const again = args();
          flaw = await flawOf(call as Call, again, path, make(partAt(again, path)), unnamed !== undefined);
        }
        if (flaw !== undefined) flaws.push(`${at}: ${what} ${flaw}`);
      }
    }
    expect(flaws).toEqual([]);
  });

  test('refuses unknown options', async () => {
    // The parameters of `fn` are left out, because they may have any names.
    const records = name === 'fn' ? [] : pathsIn(args()).filter((path) => isOptions(path, partAt(args(), path)));
    for (const path of records) {
      const own = args();
      const valid = called(partAt(own, path), undefined, undefined) as Arguments;
      const refuses = async (stranger: string, remedy: unknown): Promise<void> => {
        const given = Object.values(called(own, path, { ...valid, [stranger]: 1 }) as Arguments);
        const refused = (async () => settled((call as Call)(...given)))();
        await expect(refused, `${path.join('.')}.${stranger}`).rejects.toMatchObject({
          code: expect.stringMatching(/^(options\/unknown|(open|functor)\/option)$/),
          message: expect.stringContaining(stranger),
          remedy,
        });
      };
      await refuses('notAnOption', name === 'wgsl' ? expect.stringContaining('entry') : undefined);
      const long = Object.keys(valid).filter((each) => each.length > 3);
      const misspelt = long.length === 0 ? [] : someOf(long, 1);
      for (const meant of misspelt) await refuses(meant + meant.at(-1), `Did you mean ${meant}?`);
    }
  });
});

/** Names of arguments that contain options, and of options whose values are again records of options. */
const OPTIONS = ['options', 'job', 'policy', 'parameters'];
const INNER_OPTIONS = ['limits', 'matching', 'migrate', 'policy', 'detection', 'tracking', 'linking'];

function isOptions(path: readonly string[], value: unknown): boolean {
  const [argument, ...inner] = path.map(nameOf);
  return OPTIONS.includes(argument!) && inner.every((name) => INNER_OPTIONS.includes(name)) && isPlain(value as object);
}
