import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { onEveryBackend } from '../backends.ts';
import { caseCount, costlyCaseCount, THOROUGH } from '../cases.ts';
import { groupsByHand, rowsByHand, someKeys, somePredicate, someQuestions, topByHand } from './table-command-oracle.ts';
import { FORMATS, type Ride, rideFile, someRides, tableAnswer } from './table-command-support.ts';

const TIMEOUT_MS = 120_000;
/** The format in which rides (rows) are stored in a file, and the way in which the command reads this file. */
interface Place {
  readonly format: (typeof FORMATS)[number];
  readonly rowGroupSize: number;
  readonly rowsPerBatch: number | undefined;
}

const size = fc.constantFrom(1, 3, 32, 64, 1000);
const place: fc.Arbitrary<Place> = fc.record({
  format: fc.constantFrom(...FORMATS),
  rowGroupSize: size,
  rowsPerBatch: fc.constantFrom(undefined, 1, 5, 33),
});

/**
 * Maximum number of batches in the largest file. By default, it is small, because each batch needs a query of its own.
 */
const MOST_BATCHES = THOROUGH ? Number.POSITIVE_INFINITY : 10;
const someStored: fc.Arbitrary<readonly [rides: readonly Ride[], place: Place]> = fc
  .tuple(someRides, place)
  .map(([rides, at]) => [rides.slice(0, MOST_BATCHES * (at.rowsPerBatch ?? at.rowGroupSize)), at]);

describe('quadrille table', () => {
  onEveryBackend((opened, { name }) => {
    const numRuns = name === 'reference' ? caseCount(80) : costlyCaseCount(name === 'workers' ? 40 : 4);
    // Maximum number of aggregates in a query. By default, it is small on WebGPU, because a software GPU takes long to
    // compile the many kernels.
    const mostQuestions = THOROUGH || name === 'reference' || name === 'workers' ? Number.POSITIVE_INFINITY : 2;

    /** Returns the output of the command for a file in which rides (rows) are stored. */
    async function answerOf(
      rides: readonly Ride[],
      { format, rowGroupSize, rowsPerBatch }: Place,
      words: readonly string[],
    ): Promise<string> {
      const path = await rideFile(rides, format, rowGroupSize);
      const { stdout } = await tableAnswer(opened().context, [path, ...words], { rowsPerBatch });
      return stdout.toString();
    }

    test(
      'groups and their aggregates equal a plain evaluation',
      async () => {
        const law = fc.asyncProperty(
          someStored,
          fc.option(somePredicate, { nil: undefined }),
          someKeys,
          someQuestions,
          async ([rides, file], where, keys, someOrMore) => {
            const questions = someOrMore.slice(0, mostQuestions);
            const words = [
              ...(where === undefined ? [] : ['--where', where[0]]),
              ...(keys.length === 0 ? [] : ['--group-by', keys.join(', ')]),
              ...['--aggregate', questions.map(([text]) => text).join(', ')],
            ];
            const { liveBuffers } = opened().context.backend.counters;
            const found = await answerOf(rides, file, words);
            expect(found).toBe(groupsByHand(rides, where ?? ['', () => true], keys, questions));
            expect(opened().context.backend.counters.liveBuffers).toBe(liveBuffers);
          },
        );
        await fc.assert(law, { numRuns });
      },
      TIMEOUT_MS,
    );

    test(
      'selected rows keep the order of the file, and top rows come in their own order',
      async () => {
        const columns = fc.shuffledSubarray(['zone', 'hour', 'fare', 'tip', 'card'] as const, { minLength: 1 });
        const top = fc.record({ k: fc.constantFrom(1, 3, 100), descending: fc.boolean() });
        const law = fc.asyncProperty(
          someStored,
          somePredicate,
          columns,
          top,
          async ([rides, file], where, names, order) => {
            const rows = await answerOf(rides, file, ['--where', where[0], '--columns', names.join(',')]);
            expect(rows).toBe(rowsByHand(rides, where, names));
            const { k, descending } = order;
            const by = descending ? 'fare desc' : 'fare';
            const words = ['--where', where[0], '--columns', 'fare,zone,tip', '--order-by', by, '--limit', String(k)];
            expect(await answerOf(rides, file, words)).toBe(topByHand(rides, where, k, descending));
          },
        );
        await fc.assert(law, { numRuns });
      },
      TIMEOUT_MS,
    );
  });
});
