/**
 * Types for experiment files of `quadrille bench`.
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
