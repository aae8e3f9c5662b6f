import type { Experiment } from '../harness/experiment.ts';
import { areas } from './areas.ts';
import { chain } from './chain.ts';
import { primitiveExperiments } from './primitives.ts';

/** The built-in experiments, with the names that peers use. */
export const builtInExperiments: readonly Experiment[] = [
  ...primitiveExperiments,
  chain as unknown as Experiment,
  areas as unknown as Experiment,
];
