import type { Experiment } from '../harness/experiment.ts';
import { areas } from './areas.ts';
import { chain } from './chain.ts';
import { primitiveExperiments } from './primitives.ts';

/** The experiments that come with the library, by what peers call them too. */
export const builtInExperiments: readonly Experiment[] = [
  ...primitiveExperiments,
  chain as unknown as Experiment,
  areas as unknown as Experiment,
];
