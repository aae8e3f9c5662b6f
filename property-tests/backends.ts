import fc from 'fast-check';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { createReferenceBackend } from '../backends/reference/index.ts';
import { createWebGpuBackend } from '../backends/webgpu/backend.ts';
import { testAdapter } from '../backends/webgpu-node/node-gpu.ts';
import { createWorkersBackend } from '../backends/workers/index.ts';
import { Context } from '../primitives/context/context.ts';
import type { Backend, KernelKind, Limits } from '../primitives/contract/backend.ts';
import { caseCount, costlyCaseCount, dealLaws, someOf, THOROUGH } from './cases.ts';
import { createRun, type Law, type LawRun } from './laws/law.ts';
import { LOSSES, openMortalBackend, REPEATS_LOSSES, repeatLosses } from './support/mortal-backend.ts';
import { openPooledGpu } from './support/pooled-gpu.ts';

/** A backend on which tests run. */
export interface TestBackend {
  readonly name: string;
  /** Number of cases per law. The number is lower on backends where a case takes long. */
  readonly runs: number;
  /** Opens the backend. Throws if it is unavailable, so that no test is skipped without notice. */
  open(limits?: Partial<Limits>): Promise<Backend>;
}

/**
 * What `open()` builds with the options `limits` and `failover`. Its workers are lost again and again. The variable
 * `QUADRILLE_LOSSES`, set to the seed in the name of a failed test, repeats the losses.
 */
export const mortalBackend: TestBackend = {
  // Vitest cuts names at 40 characters where it puts them into titles.
  name: `open(), losses of seed ${LOSSES}`,
  runs: costlyCaseCount(8),
  open: openMortalBackend,
};
/** The backends that `open()` takes without failover. */
export const plainBackends: readonly TestBackend[] = [
  { name: 'reference', runs: THOROUGH ? 30 : 2, open: async (limits) => createReferenceBackend({ limits }) },
  {
    name: 'workers',
    runs: THOROUGH ? 25 : 2,
    open: (limits) => createWorkersBackend({ workers: 2, inlineNanoseconds: 0, limits }),
  },
  {
    name: `webgpu (${testAdapter()})`,
    // A software GPU gets fewer cases, because it takes a tenth of a second to compile a kernel.
    runs: testAdapter() === 'hardware' ? caseCount(30) : THOROUGH ? 8 : 1,
    open: async (limits) => createWebGpuBackend({ gpu: await openPooledGpu(), adapter: testAdapter(), limits }),
  },
];
/** All backends that are tested. This is the only list of them. Where losses are repeated, no other backend matters. */
export const testBackends: readonly TestBackend[] = [...(REPEATS_LOSSES ? [] : plainBackends), mortalBackend];
/** The backends on threads: workers that are lost again and again, or never. By default one of the two. */
export function dealtWorkers(): readonly TestBackend[] {
  return someOf(
    testBackends.filter(({ name }) => name === 'workers' || name === mortalBackend.name),
    1,
  );
}
/**
 * The backends of tests that count launches or compilations: by default the reference and one other. The mortal backend
 * is never among them, because a takeover compiles and launches commands again.
 */
export function backendsThatLaunchOnce(): readonly TestBackend[] {
  const [reference, ...others] = plainBackends;
  return [reference!, ...someOf(others, 1)];
}

/**
 * The backends on which the same laws run: by default the reference and one other, because a software GPU takes a tenth
 * of a second to compile a kernel. One time in eight, the other is the mortal backend: opening it takes as long as its
 * laws.
 */
export function dealtBackends(): readonly TestBackend[] {
  if (THOROUGH || REPEATS_LOSSES) return testBackends;
  const isMortal = someOf([true, ...Array<boolean>(7).fill(false)], 1)[0];
  return isMortal ? [plainBackends[0]!, mortalBackend] : backendsThatLaunchOnce();
}

/** Timeout of a test, which is long enough for a software GPU on a busy machine. */
const TIMEOUT_MS = 120_000;

/** The open contexts: one on the backend under test, and one on the reference. */
interface Opened {
  readonly context: Context;
  readonly reference: Context;
  /** Runs a pipeline on both contexts and compares the results; see {@link LawRun}. */
  readonly run: LawRun;
}

/** Declares the same tests for several backends. Both contexts are open while the tests run. */
export function onEveryBackend(
  declare: (opened: () => Opened, backend: TestBackend) => void,
  backends: readonly TestBackend[] = dealtBackends(),
): void {
  for (const backend of backends) {
    describe(backend.name, () => {
      let opened: Opened | undefined;
      beforeAll(async () => {
        const reference = new Context(createReferenceBackend());
        const context = backend.name === 'reference' ? reference : new Context(await backend.open());
        opened = { context, reference, run: createRun(context, reference) };
      }, TIMEOUT_MS);
      afterAll(async () => {
        await opened?.context.close();
        await opened?.reference.close();
      });
      const declareAll = (): void => declare(() => opened!, backend);
      if (backend === mortalBackend) repeatLosses(declareAll);
      else declareAll();
    });
  }
}

/** Declares a test of every law on every backend. */
export function testLaws(laws: readonly Law[], backends: readonly TestBackend[] = dealtBackends()): void {
  onEveryBackend((opened, { runs }) => {
    for (const { name, property } of laws) {
      test(name, async () => fc.assert(property(opened().run), { numRuns: runs }), TIMEOUT_MS);
    }
  }, backends);
}

/**
 * Assigns cases to the backends. Under `npm run test:thorough`, every backend gets all cases; otherwise each case is
 * tried on one random backend, and the mortal backend gets one case, if it is not among `backends`. A software GPU gets
 * `softwareShare` times as many cases as each other backend. If cases take long to compile, `softwareShare` should be
 * less than 1.
 */
export function dealToBackends<T>(
  cases: readonly T[],
  softwareShare = 1,
  backends: readonly TestBackend[] = plainBackends,
): (backend: TestBackend) => readonly T[] {
  const dealt = dealLaws(
    cases,
    backends.map((backend) =>
      backend.name === 'webgpu (software)' ? softwareShare : backend === mortalBackend ? 1 / 4 : 1,
    ),
  );
  return (backend) => dealt[backends.indexOf(backend)] ?? someOf(cases, 1);
}

/** The backends with an optional kernel removed. The library then derives the kernel's results from other kernels. */
export function backendsWithout(kernel: KernelKind): TestBackend[] {
  return plainBackends.map(({ name, runs, open }) => ({
    name: `${name} without ${kernel}`,
    runs,
    open: async (limits) => {
      const backend = await open(limits);
      return { ...backend, run: (command) => command.kind !== kernel && backend.run(command) };
    },
  }));
}

/** Opens a backend that prefers `walkRows` rows per index of a walk (a kernel that visits several rows per index). */
export async function openWalking(name: 'reference' | 'webgpu', walkRows: number): Promise<Backend> {
  if (name === 'reference') return { ...createReferenceBackend(), walkRows };
  return createWebGpuBackend({ gpu: await openPooledGpu(), adapter: testAdapter(), tuning: { walkRows } });
}

/**
 * Declares a test of every law with different `sizes` of walks (kernels that visit several rows per index). Under `npm
 * run test:thorough`, each backend tries all sizes; otherwise each backend tries one random size. The reference gets
 * more cases than WebGPU. Backends prefer different sizes, and the bytes of results must not depend on the size.
 */
export function testLawsInWalks(laws: readonly Law[], sizes: readonly number[]): void {
  describe.each(['reference', 'webgpu'] as const)('on %s', (name) => {
    describe.each(someOf(sizes, 1))('walks of %i rows', (walkRows) => {
      test.each(laws)(
        '$name',
        async ({ property }) => {
          const context = new Context(await openWalking(name, walkRows));
          const reference = new Context(createReferenceBackend());
          await fc.assert(property(createRun(context, reference)), {
            numRuns: costlyCaseCount(name === 'webgpu' ? 2 : 6),
          });
          await Promise.all([context.close(), reference.close()]);
        },
        TIMEOUT_MS,
      );
    });
  });
}

/** Declares a test on every backend. */
export function testOnEveryBackend(name: string, body: (opened: Opened) => Promise<void>): void {
  onEveryBackend((opened) => {
    test(name, () => body(opened()), TIMEOUT_MS);
  }, dealtBackends());
}
