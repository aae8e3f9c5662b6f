import { afterAll, describe, expect } from 'vitest';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { Context, fn, plus, QuadrilleError, u32 } from '../../primitives/index.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { entries } from '../support/entry-sources.ts';

type Call = (...args: unknown[]) => unknown;

const context = new Context(createReferenceBackend());
afterAll(() => context.close());
const x = context.column(Uint32Array.of(3, 1, 2));
const gone = context.column(Uint32Array.of(3));
context.dispose(gone);

/**
 * Values that every function must reject as its first argument. A few functions are exempt, because they accept all
 * values of some kind.
 */
const garbage: readonly unknown[] = [
  null,
  Number.NaN,
  -1,
  0.5,
  7,
  true,
  10n,
  'text',
  Symbol('symbol'),
  Promise.resolve(x),
  [],
  [x],
  { neither: 'nor' },
  { x: Promise.resolve(x) },
  (a: unknown) => a,
  async () => x,
  fn('double', { x: u32 }, u32, ({ x }) => x.mul(2)),
  u32,
  plus(u32),
  x,
  gone,
  { x },
  context,
  new Map(),
  new Date(0),
  Uint32Array.of(1),
];
const args = fc
  .tuple(fc.constantFrom(...garbage), fc.array(fc.constantFrom(undefined, ...garbage), { maxLength: 4 }))
  .map(([first, rest]) => [first, ...rest]);

/** Entry points whose functions validate their arguments. */
const ENTRY_POINTS = /^\.$|^\.\/(primitives|graph|backends\/.*)$/;
/** Functions that are not tested, because they take no arguments and would look for devices. */
const TAKE_NOTHING = ['listDevices', 'openTestGpu', 'testAdapter', 'useSoftwareVulkan'];

async function exportedFunctions(): Promise<[name: string, call: Call][]> {
  const modules = entries().filter(({ name }) => ENTRY_POINTS.test(name));
  const found = modules.map(async ({ name: entry, source }) => {
    const module: Record<string, unknown> = await import(source);
    return Object.entries(module).flatMap(([name, value]): [string, Call][] =>
      typeof value === 'function' && !isClass(value) && !TAKE_NOTHING.includes(name)
        ? [[`${entry} ${name}`, value as Call]]
        : [],
    );
  });
  return (await Promise.all(found)).flat();
}

function isClass(value: object): boolean {
  return /^class\b/.test(Function.prototype.toString.call(value));
}

const functions = await exportedFunctions();

describe('garbage arguments', () => {
  test('all functions are found', () => {
    expect(functions.length).toBeGreaterThan(250);
  });

  describe.each(functions)('%s', (name, call) => {
    test.prop([args], { numRuns: caseCount(60) })(
      'are refused with an error of the library or ignored, and a promise is never accepted',
      async (given) => {
        let result: unknown;
        try {
          result = call(...given);
          const awaited = await result;
          if (typeof (awaited as Context | undefined)?.close === 'function' && awaited !== context)
            await (awaited as Context).close();
        } catch (error) {
          if (!(error instanceof QuadrilleError)) console.error(name, error);
          expect(error).toBeInstanceOf(QuadrilleError);
          expect((error as QuadrilleError).code).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*\/[a-z0-9-]+$/);
          return;
        }
        const taken = given.slice(0, call.length);
        if (!name.endsWith(' isFunctor')) expect(taken.some((arg) => arg instanceof Promise)).toBe(false);
      },
    );
  });
});
