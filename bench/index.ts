/**
 * The types with which an experiment file for `quadrille bench` is written.
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
