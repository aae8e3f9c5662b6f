import type { Experiment } from '../harness/experiment.ts';
import { areas } from './areas.ts';
import { chain } from './chain.ts';
import { primitiveExperiments } from './primitives.ts';
import { programExperiments } from './programs.ts';

/** The built-in experiments. Peers find their equivalent of an experiment by its name. */
export const builtInExperiments: readonly Experiment[] = [
  ...primitiveExperiments,
  chain as unknown as Experiment,
  areas as unknown as Experiment,
  ...(programExperiments as readonly unknown[] as readonly Experiment[]),
];
