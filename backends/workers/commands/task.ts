import {
  capacityOf,
  type DeviceBuffer,
  type Extent,
  type HistogramCommand,
  type KernelCommand,
} from '../../../primitives/contract/backend.ts';
import { rowsOf } from '../../../primitives/derived/cross-reduce-by-rows.ts';
import { mergeByWalks } from '../../../primitives/derived/merge-by-walks.ts';
import { walkOfLines } from '../../../primitives/derived/walk-of-lines.ts';
import { weightsOf } from '../../../primitives/derived/weighted-histogram-by-digits.ts';
import { isVectorised, launchCrossReduce } from '../kernels/cross-reduce/cross-reduce.ts';
import { launchHistogram } from '../kernels/histogram/histogram.ts';
import { launchWeightedHistogram } from '../kernels/histogram/weighted-histogram.ts';
import { foldsByRows, launchExactReduce } from '../kernels/reduce/reduce.ts';
import { launchTreeReduce } from '../kernels/reduce/tree-reduce.ts';
import { launchRelax } from '../kernels/relax/relax.ts';
import { launchForEach } from '../kernels/rows/for-each.ts';
import { launchStrips } from '../kernels/rows/strips.ts';
import { launchWalk } from '../kernels/rows/walk.ts';
import { launchExactScan } from '../kernels/scan/scan.ts';
import { launchScanLines } from '../kernels/scan/scan-lines.ts';
import { launchTreeScan } from '../kernels/scan/tree-scan.ts';
import { launchUnite } from '../kernels/sets/unite.ts';
import { launchSort } from '../kernels/sort/sort.ts';
import { launchDecodeTiles } from '../kernels/tiles/decode-tiles.ts';
import { launchTileHistograms } from '../kernels/tiles/tile-histograms.ts';
import { costOf, costOfClearing, costOfCount, costOfPairs, costOfRelaxing, costOfWalk } from './cost.ts';
import type { Launch, Launcher } from './launch.ts';
import { launchDerived, launchStored } from './stored-elements.ts';

/**
 * A command that is ready to be launched: the extent and costs that decide where it runs, and the buffers that it
 * writes.
 */
export interface KernelTask {
  readonly extent: Extent;
  /** Approximate upper bound, in nanoseconds, of the cost per element; infinite if there is no bound. */
  readonly cost: number;
  /** Approximate cost, in nanoseconds, that is added once to the cost of all elements. */
  readonly fixedCost: number;
  readonly writes: readonly DeviceBuffer[];
  readonly launch: (launcher: Launcher) => Launch;
}

/** Approximate cost, in nanoseconds, per element and pass of a sort. */
const SORT_PASS_COST = 8;

/** Approximate cost, in nanoseconds, of decoding a cell of a tile. */
const DECODING_COST = 1;

/** Approximate cost, in nanoseconds, of following links from a node to the root of its set. */
const PATHS_COST = 30;

/** Number of rows of a walk, where it may be chosen. */
export const WALK_ROWS = 64;

/** Approximate cost, in nanoseconds, of a step along two sorted tables, without that of their programs. */
const STEP_COST = 5;

/** The task of a command, with the chosen kernel and the estimated cost. */
export function taskOf(command: KernelCommand): KernelTask {
  switch (command.kind) {
    case 'forEach': {
      const { extent, program, stores } = command;
      return {
        extent,
        cost: costOf(program.module),
        fixedCost: 0,
        writes: stores.map(({ buffer }) => buffer),
        launch: (launcher) => launchForEach(launcher, command),
      };
    }
    case 'walk':
      return {
        extent: command.extent,
        cost: costOfWalk(command),
        fixedCost: 0,
        writes: command.stores.map(({ buffer }) => buffer),
        launch: (launcher) => launchWalk(launcher, command),
      };
    case 'strips': {
      const cost = costOf(command.program.module);
      return {
        extent: command.extent,
        cost: cost / command.rows,
        fixedCost: cost,
        writes: command.owned.map(({ buffer }) => buffer),
        launch: (launcher) => launchStrips(launcher, command),
      };
    }
    case 'reduce': {
      const { extent, program, monoid, into } = command;
      const kernel = monoid.exact ? launchExactReduce : launchTreeReduce;
      return {
        extent,
        cost: costOf(program.module) + costOf(monoid.module),
        fixedCost: 0,
        writes: [into.buffer],
        launch: (launcher) =>
          foldsByRows(command) ? kernel(launcher, command) : launchStored(launcher, command, kernel),
      };
    }
    case 'scan': {
      const { extent, program, monoid, emit, stores, total } = command;
      const launch = monoid.exact ? launchExactScan : launchTreeScan;
      return {
        extent,
        cost: 2 * (costOf(program.module) + costOf(monoid.module)) + costOf(emit.module),
        fixedCost: 0,
        writes: [...stores, ...(total === undefined ? [] : [total])].map(({ buffer }) => buffer),
        launch: (launcher) => launchStored(launcher, command, launch),
      };
    }
    case 'sort': {
      const { extent, program, beginBit, endBit, keys, payload } = command;
      return {
        extent,
        cost: costOf(program.module) + SORT_PASS_COST * Math.ceil((endBit - beginBit) / 8),
        fixedCost: 0,
        writes: [keys, payload].flatMap((cell) => (cell === undefined ? [] : [cell.buffer])),
        launch: (launcher) => launchStored(launcher, command, launchSort),
      };
    }
    case 'histogram':
      return {
        extent: command.extent,
        cost: costOfCount(command),
        fixedCost: costOfClearing(wordsCounted(command)),
        writes: [command.into.buffer],
        launch: (launcher) => launchStored(launcher, command, launchHistogram),
      };
    case 'weightedHistogram':
      return {
        extent: command.extent,
        cost: costOf(command.program.module) + weightsOf(command),
        fixedCost: costOfClearing(2 * weightsOf(command) * command.bins),
        writes: [command.into.buffer],
        launch: (launcher) => launchStored(launcher, command, launchWeightedHistogram),
      };
    case 'relax':
      return {
        extent: command.extent,
        cost: costOfRelaxing(command),
        fixedCost: 0,
        writes: [...command.state, command.rounds].map(({ buffer }) => buffer),
        launch: (launcher) => launchRelax(launcher, command),
      };
    case 'crossReduce': {
      if (!isVectorised(command)) return taskOf(rowsOf(command));
      return {
        extent: command.extent,
        cost: costOfPairs(command),
        fixedCost: 0,
        writes: command.results.map(({ buffer }) => buffer),
        launch: (launcher) => launchCrossReduce(launcher, command),
      };
    }
    case 'decodeTiles': {
      const { extent, tile, columns, rows, into } = command;
      return {
        extent,
        cost: costOf(tile.module) + DECODING_COST * columns * rows,
        fixedCost: 0,
        writes: [into.buffer],
        launch: (launcher) => launchDecodeTiles(launcher, command),
      };
    }
    case 'tileHistograms': {
      const { extent, tile, columns, rows, bins, histograms, into } = command;
      return {
        extent,
        cost: costOf(tile.module) + 2 * DECODING_COST * columns * rows,
        fixedCost: costOfClearing(bins * histograms),
        writes: [into.buffer],
        launch: (launcher) => launchTileHistograms(launcher, command),
      };
    }
    case 'scanLines': {
      if (!command.monoid.exact && command.rows * command.columns > 0) return taskOf(walkOfLines(command));
      const { extent, program, monoid, stores } = command;
      return {
        extent,
        cost: 2 * costOf(program.module) + costOf(monoid.module),
        fixedCost: 0,
        writes: stores.map(({ buffer }) => buffer),
        launch: (launcher) => launchStored(launcher, command, launchScanLines),
      };
    }
    case 'unite': {
      const { extent, program, nodes, links } = command;
      return {
        extent,
        cost: costOf(program.module) + PATHS_COST,
        fixedCost: PATHS_COST * capacityOf(nodes),
        writes: [links.buffer],
        launch: (launcher) => launchUnite(launcher, command),
      };
    }
    case 'merge': {
      const { extent, first, second, keeps, stores, total } = command;
      const programs = [first.keys, second.keys, first.row, second.row];
      const cost = programs.reduce(
        (sum, program) => sum + (program === undefined ? 0 : costOf(program.module)),
        STEP_COST,
      );
      return {
        extent,
        cost: keeps === undefined ? cost : 2 * cost,
        fixedCost: 0,
        writes: [...stores, ...(total === undefined ? [] : [total])].map(({ buffer }) => buffer),
        launch: (launcher) =>
          launchDerived(
            launcher,
            WALK_ROWS,
            (backend) => mergeByWalks(backend, command),
            (inside, each) => taskOf(each).launch(inside),
          ),
      };
    }
  }
}

/** Number of words in the result of a histogram. */
function wordsCounted({ extent, bins, segment, histograms }: HistogramCommand): number {
  return bins * (histograms ?? (segment === undefined ? 1 : Math.ceil(capacityOf(extent) / segment)));
}
