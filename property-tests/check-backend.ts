import fc from 'fast-check';
import { createReferenceBackend } from '../backends/reference/index.ts';
import { requireFunction, requireOptions } from '../primitives/checks/arguments.ts';
import { ArgumentError } from '../primitives/checks/errors.ts';
import { aFunction, aNumber, anArrayOf, aRecord, aText, aWhole } from '../primitives/checks/kinds.ts';
import { Context } from '../primitives/context/context.ts';
import type { Backend } from '../primitives/contract/backend.ts';
import { allLaws } from './laws/all.ts';
import { createRun, type Law } from './laws/law.ts';

export interface CheckOptions {
  /** Number of cases per law; 100 by default. */
  readonly numRuns?: number;
  /** The seed of fast-check. The seed that a failure reports gives the same cases again. */
  readonly seed?: number;
  /** The laws to try; all of them by default. */
  readonly laws?: readonly Law[];
}

const aLaw = aRecord<Law>({ name: aText, property: aFunction });

/**
 * Tries the laws of the kernels and primitives on a backend. Every result is compared with a plain loop and, byte for
 * byte, with the reference backend. After every case, the backend must hold as many buffers and bytes as before.
 *
 * Resolves if all laws hold. The backend is closed in any case.
 *
 * @param createBackend - opens the backend; called once.
 * @throws AggregateError with one error per broken law, each with its smallest counterexample and the seed.
 * @throws ArgumentError `check/cases` if there are no laws or no cases, because nothing would be checked.
 * @example
 * ```ts
 * const laws = allLaws.filter(({ name }) => name.startsWith('sort'));
 * await checkBackend(createReferenceBackend, { numRuns: 5, laws }); // undefined
 * ```
 */
export async function checkBackend(
  createBackend: () => Backend | Promise<Backend>,
  options: CheckOptions = {},
): Promise<void> {
  requireFunction('checkBackend', 'createBackend', createBackend);
  requireOptions<CheckOptions>('checkBackend', { numRuns: aNumber, seed: aWhole(), laws: anArrayOf(aLaw) }, options);
  const { numRuns = 100, seed, laws = allLaws } = options;
  requireCases(numRuns, laws);
  const reference = new Context(createReferenceBackend());
  const context = new Context(await createBackend());
  const broken: Error[] = [];
  try {
    const run = createRun(context, reference);
    for (const { name, property } of laws) {
      const details = await fc.check(property(run), seed === undefined ? { numRuns } : { numRuns, seed });
      const report = fc.defaultReportMessage(details as never);
      if (report !== undefined) broken.push(new Error(`${name}: ${report}`, { cause: details.errorInstance }));
    }
  } finally {
    await context.close();
    await reference.close();
  }
  if (broken.length > 0) {
    throw new AggregateError(
      broken,
      `${broken.length} of ${laws.length} laws do not hold:\n${broken.map(String).join('\n')}`,
    );
  }
}

function requireCases(numRuns: number, laws: readonly Law[]): void {
  if (laws.length > 0 && Number.isInteger(numRuns) && numRuns > 0) return;
  throw new ArgumentError('check/cases', 'checkBackend was asked to check nothing.', {
    expected: 'laws, and a positive whole number of cases of each',
    got: `${laws.length} laws, ${numRuns} cases of each`,
    remedy: 'Look up the names of laws in allLaws.',
  });
}
