import { availableParallelism } from 'node:os';
import type { Candidate } from '../harness/candidate.ts';
import { CPP_FLAGS } from '../shared/sources.ts';
import { cppTwins } from './cpp-twins.ts';
import { type PeerProgram, type ProgramSource, programCandidate, startProgram, versionOf } from './program.ts';

/** The experiments that `primitives.cpp` implements. */
export const CPP_PRIMITIVES: ReadonlySet<string> = new Set(
  (
    'copy map reduce scan copyIf gather scatter reduceByKey histogram sort sortByKey merge setUnion setIntersection ' +
    'setDifference setSymmetricDifference chain'
  ).split(' '),
);

/**
 * Two candidates: C++ compiled by g++ with all optimizations, on one thread and on all threads. Empty if there is no
 * compiler. Beside programs, they run the programs' twins, which need a compiler even if `primitives.cpp` was compiled elsewhere.
 */
export async function cppPeers(compiled?: string): Promise<Candidate[]> {
  const started = await startCpp(compiled);
  if (started === undefined) return [];
  const { version, program } = started;
  const twins = cppTwins();
  const counts = [...new Set([1, availableParallelism()])];
  return counts.map((threads, i) => {
    const ofPrimitives = programCandidate(
      {
        name: threads === 1 ? 'c++' : `c++ ×${threads}`,
        hardware: 'cpu',
        description: `${version}, ${CPP_FLAGS.join(' ')}, ${threads} ${threads === 1 ? 'thread' : 'threads'}`,
      },
      program,
      String(threads),
      CPP_PRIMITIVES,
      'host',
      async () => {
        if (i > 0) return;
        await program.close();
        await twins.close();
      },
    );
    return {
      ...ofPrimitives,
      prepare: async (job) => (await ofPrimitives.prepare(job)) ?? (await twins.prepare(job, threads)),
    };
  });
}

/**
 * Compiles and starts `primitives.cpp`, or starts a program compiled from it elsewhere. Undefined if there is no
 * compiler.
 */
export async function startCpp(
  compiled?: string,
): Promise<{ readonly version: string; readonly program: PeerProgram } | undefined> {
  const source: ProgramSource = { file: 'primitives.cpp', compiler: process.env.CXX ?? 'g++', flags: CPP_FLAGS };
  const version = compiled ?? (await versionOf(source.compiler, '--version'))?.split('\n')[0];
  return version === undefined ? undefined : { version, program: await startProgram(source, compiled) };
}
