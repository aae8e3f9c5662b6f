/**
 * For authors of experiments for `quadrille bench`: the types of their files.
 *
 * @packageDocumentation
 */
export type {
  At,
  Case,
  ColumnsOnBackend,
  ElementType,
  Experiment,
  ExperimentFile,
  HostColumn,
  HostColumns,
  HostResult,
} from './harness/experiment.ts';
