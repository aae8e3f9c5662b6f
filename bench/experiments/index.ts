import type { Experiment } from '../harness/experiment.ts';
import { areas } from './areas.ts';
import { chain } from './chain.ts';
import { primitiveExperiments } from './primitives.ts';

/** The built-in experiments. Peers find their equivalents by these names. */
export const builtInExperiments: readonly Experiment[] = [
  ...primitiveExperiments,
  chain as unknown as Experiment,
  areas as unknown as Experiment,
];
