import fc from 'fast-check';
import { Context } from '../../primitives/context/context.ts';
import type { Backend } from '../../primitives/contract/backend.ts';
import { allLaws } from '../laws/all.ts';
import { type HostTable, words } from '../laws/compare.ts';
import { createRun, type Law, type LawRun } from '../laws/law.ts';

/** A choice of laws to try, and of the cases to try them with. */
export interface Trial {
  readonly laws: readonly string[];
  readonly seed: number;
  readonly numRuns: number;
}

/**
 * Tries laws on a backend; returns a digest of the result bytes for each law. Equal cases with equal results have equal
 * digests on all machines.
 */
export async function digestsOf(backend: Backend, reference: Backend, trial: Trial): Promise<Record<string, string>> {
  const contexts = [new Context(backend), new Context(reference)] as const;
  const run = createRun(...contexts);
  const digests: Record<string, string> = {};
  try {
    for (const law of lawsOf(trial)) {
      let digest = 0;
      const digested: LawRun = async (pipeline) => {
        const result = await run(pipeline);
        digest = digestOf(words(result as HostTable, false), digest);
        return result;
      };
      const { seed, numRuns } = trial;
      await fc.assert(law.property(digested), { seed, numRuns });
      digests[law.name] = digest.toString(16);
    }
  } finally {
    await Promise.all(contexts.map((context) => context.close()));
  }
  return digests;
}

function lawsOf({ laws }: Trial): readonly Law[] {
  return laws.map((name) => allLaws.find((law) => law.name === name)!);
}

/** Continues an FNV-1a digest with the column names and words of a table. All NaNs have the same digest. */
function digestOf(table: HostTable, from: number): number {
  if (!isTable(table)) return [...Array.from(table), table.length].reduce(mix, from);
  return Object.keys(table)
    .sort()
    .reduce((digest, name) => {
      const named = Array.from(name, (letter) => letter.codePointAt(0)!).reduce(mix, digest);
      return digestOf(table[name]!, named);
    }, from);
}

function isTable(table: HostTable): table is { readonly [name: string]: HostTable } {
  return !('length' in table && typeof table.length === 'number');
}

function mix(digest: number, word: number): number {
  return Math.imul(digest ^ word, 16777619) >>> 0;
}
