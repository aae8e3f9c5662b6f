import type { MonoidProgram, ScanForm } from '../../../../primitives/contract/backend.ts';
import { Graph, type Node, truthOf } from '../../../analyses/straight-line.ts';
import type { KernelInputs, KernelShape } from '../../commands/kernel-arguments.ts';
import type { VectorPart } from '../../wasm/index-loop.ts';
import { straightProgram } from '../../wasm/program-graph.ts';
import type { Int32 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local, ScalarLocal } from '../../wasm/wasm-locals.ts';

/** Vector code for the two passes over a tile: fold and scan. A vector holds four elements. */
export interface ScanVectors {
  /** Folds the elements of the tile. The result is in the locals `state`. */
  readonly fold: VectorPart;
  /** Scans the elements of the tile. The prefix before the tile must be in the locals `state`. */
  readonly scan: VectorPart;
  /** Whether the scan pass needs the inclusive prefix of the tile in advance, in the locals `end`. */
  readonly needsEnd: boolean;
}

export interface ScanSources {
  readonly inputs: KernelInputs;
  readonly monoid: MonoidProgram;
  readonly form: ScanForm | undefined;
  /**
   * Locals of the kernel: the current index, the end of the tile, the fold so far, and the inclusive prefix of the
   * tile.
   */
  readonly index: Int32Local;
  readonly to: Int32;
  readonly state: readonly ScalarLocal[];
  readonly end: readonly ScalarLocal[];
}

/**
 * The nodes of both programs of a scan. The programs share one graph, so a read that occurs in both is emitted once.
 */
export interface ScanNodes {
  readonly graph: Graph;
  readonly elements: readonly Node[];
  readonly exclusive: readonly Node[];
  readonly inclusive: readonly Node[];
  readonly results: readonly Node[];
}

/** Builds the nodes of both programs. Undefined if either program is not straight-line code. */
export function scanNodes(shape: KernelShape, monoid: MonoidProgram): ScanNodes | undefined {
  const graph = new Graph('aligned');
  const exclusive = monoid.types.map((type, leaf) => graph.parameter(type, `exclusive${leaf}`));
  const inclusive = monoid.types.map((type, leaf) => graph.parameter(type, `inclusive${leaf}`));
  const elements = straightProgram(graph, shape, 0);
  const args = [graph.index(), ...exclusive, ...inclusive];
  const results = elements && straightProgram(graph, shape, 1, args);
  return results && { graph, elements, exclusive, inclusive, results };
}

/** The first leaf of an element as a condition. The leaf is a flag, 0 or 1. */
export function flagOf({ graph, elements: [flag] }: ScanNodes): Node {
  return truthOf(flag!) ?? graph.operation('ne', 'bool', [flag!, graph.literal('u32', 0)]);
}
