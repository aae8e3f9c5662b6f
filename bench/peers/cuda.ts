import type { Candidate } from '../harness/candidate.ts';
import { type ProgramSource, programCandidate, startProgram, versionOf } from './program.ts';

const FLAGS = ['-O3', '-std=c++17', '-arch=native', '--extended-lambda'];

const LIBRARIES: Readonly<Record<string, ReadonlySet<string>>> = {
  thrust: new Set(
    (
      'copy map reduce scan copyIf gather scatter reduceByKey sort sortByKey reverse lowerBound setUnion ' +
      'setIntersection setDifference setSymmetricDifference chain'
    ).split(' '),
  ),
  // The experiments measured with CUB. `partition` is missing because CUB's version reverses the rejected rows.
  cub: new Set(
    (
      'reduce scan copyIf reduceByKey histogram sort sortByKey merge count minElement adjacentDifference unique ' +
      'runLengthEncode segmentedScan'
    ).split(' '),
  ),
};

/**
 * Thrust in its usual style, and CUB with preallocated storage; both are timed by CUDA events. Both need an NVIDIA
 * driver, and either nvcc or a program compiled elsewhere.
 */
export async function cudaPeers(compiled?: string): Promise<Candidate[]> {
  const card = await versionOf('nvidia-smi', '--query-gpu=name,driver_version', '--format=csv,noheader');
  if (card === undefined) return [];
  const source: ProgramSource = { file: 'primitives.cu', compiler: process.env.NVCC ?? 'nvcc', flags: FLAGS };
  const version = compiled ?? (await versionOf(source.compiler, '--version'))?.split('\n').at(-1);
  if (version === undefined) return [];
  const program = await startProgram(source, compiled);
  return Object.entries(LIBRARIES).map(([name, names], i) =>
    programCandidate(
      { name, hardware: 'gpu', description: `${version}, on ${card.split('\n')[0]}` },
      program,
      name,
      names,
      'device',
      async () => {
        if (i === 0) await program.close();
      },
    ),
  );
}
