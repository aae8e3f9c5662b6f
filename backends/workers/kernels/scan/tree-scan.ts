import type { MonoidProgram, ScanCommand } from '../../../../primitives/contract/backend.ts';
import {
  ARGUMENTS,
  argumentWords,
  beginKernel,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
  ownWordOffset,
  resultsOf,
  shapeKey,
  shapeOf,
} from '../../commands/kernel-arguments.ts';
import { fixedPhase, type Launch, type Launcher } from '../../commands/launch.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { type Int32, load } from '../../wasm/wasm-expressions.ts';
import type { Int32Local } from '../../wasm/wasm-locals.ts';
import { block, br, brIf, forRange, loop, when, whileTrue } from '../../wasm/wasm-statements.ts';
import { emitIdentity, loadState, monoidKey, releaseAll, stateLocals, storeState } from '../shared/monoid-code.ts';
import { emitStores, emitVectorStores } from '../shared/stores.ts';
import {
  blockCount,
  emitChunkBlocks,
  emitEither,
  emitStateBlocks,
  emitTotals,
  extentWords,
  INTO,
  LEVELS,
  levelBytes,
  ROOMS,
  TOTALS,
  wholeBlocks,
} from '../shared/tree-blocks.ts';
import {
  type Before,
  emitBlockPrefixes,
  emitBlockTotal,
  emitWorkerRoom,
  roomBytes,
  stateAt,
} from '../shared/tree-code.ts';
import { emitWholePrefixes, type VisitFour, type WholeBlock } from '../shared/tree-vectors.ts';
import { type ScanNodes, scanNodes } from './scan-nodes.ts';

/**
 * Scans in the order of the canonical combination tree. This order gives the same f32 results on every backend. All
 * workers compute the totals of the blocks. Then one worker replaces the totals by exclusive prefixes. Then all workers
 * scan the blocks.
 */
export function launchTreeScan(launcher: Launcher, command: ScanCommand): Launch {
  const { extent, program, monoid, emit, stores, total } = command;
  const shape = shapeOf([program, emit], 2 + LEVELS, stores);
  const kernel = launcher.compile(`tree scan ${monoidKey(monoid)} ${shapeKey(shape)}`, () => [
    emitTotals(shape, monoid),
    emitScanTotals(shape, monoid),
    emitScanBlocks(shape, monoid),
  ]);
  const { length, chunkSize } = extentWords(launcher, extent);
  const own = [
    total === undefined ? 0 : launcher.addresses.of(total, monoid.types.length),
    launcher.scratch(launcher.workers * roomBytes(monoid)),
    ...levelBytes(length[2], monoid).map((bytes) => launcher.scratch(bytes)),
  ];
  return {
    words: argumentWords(shape, launcher.addresses, length, chunkSize, own),
    phases: [
      { run: kernel.functions[0]!, length, chunkSize, minimum: 0 },
      fixedPhase(kernel.functions[1]!, 1),
      { run: kernel.functions[2]!, length, chunkSize, minimum: 0 },
    ],
  };
}

/**
 * Computes the totals of the blocks from the lowest level to the highest, and stores the total of all elements. Then
 * replaces the totals by exclusive prefixes, from the highest level to the lowest.
 */
function emitScanTotals(shape: KernelShape, monoid: MonoidProgram): FunctionBody {
  const { code, inputs } = beginKernel({ ...shape, stores: [] });
  const { extent } = inputs;
  const room = emitWorkerRoom(code, monoid, ROOMS);
  const into = emitOwnWord(code, INTO);
  const level = code.local(I32);
  const states = code.local(I32);
  const above = code.local(I32);
  const count = code.local(I32);
  const total = stateLocals(code, monoid);

  level.set(0);
  count.set(blockCount(extent));
  whileTrue(code, level.ltU(LEVELS - 1), () => {
    states.set(totalsOf(level, 0));
    above.set(totalsOf(level, 1));
    emitStateBlocks(code, monoid, room, states, count, (block, number) => {
      emitBlockTotal(block, total);
      storeState(code, stateAt(monoid, above, number), total);
    });
    count.set(blockCount(count));
    level.set(level.add(1));
  });
  emitIdentity(monoid, total);
  states.set(totalsOf(level, 0));
  emitStateBlocks(code, monoid, room, states, count, (block) => emitBlockTotal(block, total));
  when(code, into, () => storeState(code, into, total));

  const before: Before = { exists: code.local(I32), state: stateLocals(code, monoid) };
  block(code, (done) =>
    loop(code, (again) => {
      emitCountAt(code, extent, level, count);
      states.set(totalsOf(level, 0));
      emitStateBlocks(code, monoid, room, states, count, (block, number) => {
        // Block 0 of each level has no prefix; all other blocks have one. The highest level has only block 0.
        when(code, before.exists.tee(number), () => loadState(monoid, stateAt(monoid, above, number), before.state));
        emitBlockPrefixes(block, before, (index, exclusive) =>
          storeState(code, stateAt(monoid, states, index), exclusive),
        );
      });
      brIf(code, done, level.isZero());
      above.set(states);
      level.set(level.add(-1));
      br(code, again);
    }),
  );
  return code.finish();
}

/** The address of the totals of level `level + higher`. */
function totalsOf(level: Int32, higher: number): Int32 {
  return load(ARGUMENTS.add(level.shl(2)), ownWordOffset(TOTALS + higher));
}

/** Sets `into` to the number of totals of a level. */
function emitCountAt(code: Code, extent: Int32, level: Int32, into: Int32Local): void {
  into.set(blockCount(extent));
  forRange(code, level, () => into.set(blockCount(into)));
}

/** Scans the blocks of a chunk. Each block starts from its exclusive prefix. */
function emitScanBlocks(shape: KernelShape, monoid: MonoidProgram): FunctionBody {
  const { code, inputs } = beginKernel(shape, resultsOf(shape.programs[1]!));
  const totals = emitOwnWord(code, TOTALS);
  const before: Before = { exists: code.local(I32), state: stateLocals(code, monoid) };
  const nodes = scanNodes(shape, monoid);
  const whole = nodes && wholeBlocks(code, monoid, inputs, nodes.elements, nodes.results);
  emitChunkBlocks(code, monoid, inputs, whole, (block, number) => {
    when(code, before.exists.tee(number), () => loadState(monoid, stateAt(monoid, totals, number), before.state));
    emitEither(
      block,
      whole,
      (wholeBlock) => emitWholePrefixes(wholeBlock, before, visitFour(wholeBlock, inputs, nodes!)),
      () =>
        emitBlockPrefixes(block, before, (index, exclusive, inclusive) => {
          const results = inlineEntry(code, inputs.environments[1]!, [index, ...exclusive, ...inclusive]);
          emitStores(code, inputs.stores, index, results);
          releaseAll(code, results);
        }),
    );
  });
  return code.finish();
}

function visitFour({ code, lanes, index }: WholeBlock, { stores }: KernelInputs, nodes: ScanNodes): VisitFour {
  return (offset, exclusive, inclusive) => {
    lanes.begin(offset);
    nodes.exclusive.forEach((node, leaf) => {
      lanes.bind(node, exclusive[leaf]!);
    });
    nodes.inclusive.forEach((node, leaf) => {
      lanes.bind(node, inclusive[leaf]!);
    });
    emitVectorStores(code, lanes, stores, index, offset, nodes.results, nodes.graph.index());
  };
}
