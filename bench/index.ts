/**
 * Experiments of one's own for `quadrille bench`: what a file of them exports.
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
