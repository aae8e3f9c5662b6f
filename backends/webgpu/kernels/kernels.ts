import {
  type CommandOf,
  capacityOf,
  type KernelCommand,
  type KernelKind,
  type Program,
} from '../../../primitives/contract/backend.ts';
import { rowsOf, runsOf } from '../../../primitives/derived/cross-reduce-by-rows.ts';
import type { Engine } from '../launches/engine.ts';
import { type CrossLayout, crossReduce, layoutPairs } from './cross-reduce/cross-reduce.ts';
import { crossTiles, takesTiles } from './cross-reduce/cross-tiles.ts';
import { histogram } from './histogram/histogram.ts';
import { bindsSums, weightedHistogram } from './histogram/weighted-histogram.ts';
import { layoutMerge, mergeTiles } from './merge/merge.ts';
import type { MergeTile } from './merge/merge-text.ts';
import { reduce } from './reduce/reduce.ts';
import { relax } from './relax/relax.ts';
import { layoutGrids, type RelaxLayout } from './relax/relax-layout.ts';
import { forEach } from './rows/for-each.ts';
import { strips } from './rows/strips.ts';
import { walk } from './rows/walk.ts';
import { scan } from './scan/scan.ts';
import { type LineTile, layoutLines, scanLines } from './scan/scan-lines.ts';
import { bindsLinks, unite } from './sets/unite.ts';
import { sort } from './sort/sort.ts';
import { decodeTiles, takesDecoding } from './tiles/decode-tiles.ts';
import { takesTileHistograms, tileHistograms } from './tiles/tile-histograms.ts';

/** How the commands of a kernel are launched. */
interface Kernel<C extends KernelCommand, L> {
  /** The program by which profiles name a command. */
  named(command: C): Program;
  /** What a launch needs to know first; none if the kernel cannot run the command. Absent: it runs all commands. */
  layout?(engine: Engine, command: C): L | false | undefined;
  launch(engine: Engine, command: C, layout: L): void;
}

interface Layouts {
  readonly relax: RelaxLayout;
  readonly crossReduce: 'tiles' | 'rows' | CrossLayout;
  readonly scanLines: LineTile;
  readonly merge: MergeTile;
}

type LayoutOf<K extends KernelKind> = K extends keyof Layouts ? Layouts[K] : true;

/** The kernels, which commands and tapes launch alike. */
const KERNELS: { readonly [K in KernelKind]: Kernel<CommandOf<K>, LayoutOf<K>> } = {
  forEach: {
    named: ({ program }) => program,
    launch: (engine, { extent, program, stores, across }) => forEach(engine, extent, program, stores, across),
  },
  walk: { named: ({ step }) => step, launch: walk },
  strips: { named: ({ program }) => program, launch: strips },
  reduce: {
    named: ({ program }) => program,
    launch: (engine, { extent, program, monoid, into }) => reduce(engine, extent, program, monoid, into),
  },
  scan: { named: ({ program }) => program, launch: scan },
  sort: { named: ({ program }) => program, launch: sort },
  histogram: { named: ({ program }) => program, launch: histogram },
  weightedHistogram: {
    named: ({ program }) => program,
    layout: bindsSums,
    launch: weightedHistogram,
  },
  relax: { named: ({ step }) => step, layout: layoutGrids, launch: relax },
  crossReduce: {
    named: ({ step }) => step,
    layout: (engine, command) => (takesTiles(engine, command) ? 'tiles' : (layoutPairs(engine, command) ?? 'rows')),
    launch(engine, command, layout) {
      if (capacityOf(command.extent) === 0 || runsOf(command) === 0) return;
      if (layout === 'tiles') crossTiles(engine, command);
      else if (layout !== 'rows') crossReduce(engine, command, layout);
      else {
        const { extent, program, stores } = rowsOf(command);
        forEach(engine, extent, program, stores);
      }
    },
  },
  decodeTiles: {
    named: ({ tile }) => tile,
    layout: takesDecoding,
    launch: decodeTiles,
  },
  scanLines: { named: ({ program }) => program, layout: layoutLines, launch: scanLines },
  tileHistograms: {
    named: ({ bin }) => bin,
    layout: takesTileHistograms,
    launch: tileHistograms,
  },
  unite: {
    named: ({ program }) => program,
    layout: bindsLinks,
    launch: unite,
  },
  merge: {
    named: ({ first }) => first.keys,
    layout: layoutMerge,
    launch: mergeTiles,
  },
};

/** The kernel of a command. A layout that it returns is for commands of the same kernel. */
export function kernelOf({ kind }: KernelCommand): Kernel<KernelCommand, unknown> {
  return KERNELS[kind] as Kernel<KernelCommand, unknown>;
}
