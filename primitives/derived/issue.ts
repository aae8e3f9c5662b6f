import { ArgumentError } from '../checks/errors.ts';
import type { Backend, CommandOf, KernelCommand, KernelKind } from '../contract/backend.ts';
import { crossReduceByRows } from './cross-reduce-by-rows.ts';
import { decodeTilesByWalks } from './decode-tiles-by-walks.ts';
import { mergeByWalks } from './merge-by-walks.ts';
import { relaxByRounds } from './relax-by-rounds.ts';
import { scanLinesByParts } from './scan-lines-by-parts.ts';
import { tileHistogramsByRows } from './tile-histograms-by-rows.ts';
import { uniteByHooking } from './unite-by-hooking.ts';
import { weightedHistogramByDigits } from './weighted-histogram-by-digits.ts';

/** What computes the results of a command by other commands, for backends that have no kernel for it. */
type Derived<K extends KernelKind> = (backend: Backend, command: CommandOf<K>) => void;

const DERIVED: { readonly [K in KernelKind]?: Derived<K> } = {
  relax: relaxByRounds,
  crossReduce: crossReduceByRows,
  weightedHistogram: weightedHistogramByDigits,
  decodeTiles: decodeTilesByWalks,
  tileHistograms: tileHistogramsByRows,
  scanLines: scanLinesByParts,
  unite: uniteByHooking,
  merge: mergeByWalks,
};

/** Issues a command to a backend, or other commands that compute the same if the backend has no kernel for it. */
export function issue(backend: Backend, command: KernelCommand): void {
  if (backend.run(command)) return;
  const derived = DERIVED[command.kind] as Derived<KernelKind> | undefined;
  if (derived === undefined) throw notRun(backend, command.kind);
  derived(backend, command);
}

function notRun({ name }: Backend, kind: KernelKind): ArgumentError {
  return new ArgumentError('backend/kernel', `The backend ${name} does not run commands of the kernel ${kind}.`, {
    remedy: 'Every backend must run forEach, walk, strips, reduce, scan, sort and histogram, and return true for them.',
  });
}
