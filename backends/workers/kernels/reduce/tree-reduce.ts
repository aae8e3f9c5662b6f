import type { MonoidProgram, ReduceCommand } from '../../../../primitives/contract/backend.ts';
import {
  argumentWords,
  beginKernel,
  emitOwnWord,
  type KernelShape,
  shapeKey,
  shapeOf,
} from '../../commands/kernel-arguments.ts';
import { fixedPhase, type Launch, type Launcher } from '../../commands/launch.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { when, whileTrue } from '../../wasm/wasm-statements.ts';
import { emitIdentity, loadState, monoidKey, stateLocals, storeState } from '../shared/monoid-code.ts';
import {
  blockCount,
  emitStateBlocks,
  emitTotals,
  extentWords,
  INTO,
  levelBytes,
  ROOMS,
  TOTALS,
} from '../shared/tree-blocks.ts';
import { emitBlockTotal, emitWorkerRoom, roomBytes, stateAt } from '../shared/tree-code.ts';

/**
 * Reduces in the order of the canonical combination tree. This order gives the same f32 results on every backend. The
 * workers compute the totals of the blocks in parallel. Then one worker folds the totals.
 */
export function launchTreeReduce(launcher: Launcher, { extent, program, monoid, into }: ReduceCommand): Launch {
  const shape = shapeOf([program], 3);
  const kernel = launcher.compile(`tree ${monoidKey(monoid)} ${shapeKey(shape)}`, () => [
    emitTotals(shape, monoid),
    emitFoldTotals(shape, monoid),
  ]);
  const { length, chunkSize } = extentWords(launcher, extent);
  const own = [
    launcher.addresses.of(into, monoid.types.length),
    launcher.scratch(launcher.workers * roomBytes(monoid)),
    launcher.scratch(levelBytes(length[2], monoid)[0]!),
  ];
  return {
    words: argumentWords(shape, launcher.addresses, length, chunkSize, own),
    phases: [{ run: kernel.functions[0]!, length, chunkSize, minimum: 0 }, fixedPhase(kernel.functions[1]!, 1)],
  };
}

/** Emits the function that folds the totals of the blocks level by level, in place, until only one total is left. */
function emitFoldTotals(shape: KernelShape, monoid: MonoidProgram): FunctionBody {
  const { code, inputs } = beginKernel(shape);
  const { extent } = inputs;
  const into = emitOwnWord(code, INTO);
  const totals = emitOwnWord(code, TOTALS);
  const room = emitWorkerRoom(code, monoid, ROOMS);
  const total = stateLocals(code, monoid);
  const count = code.local(I32);
  emitIdentity(monoid, total);
  count.set(blockCount(extent));
  when(code, count, () => {
    whileTrue(code, count.gtU(1), () => {
      emitStateBlocks(code, monoid, room, totals, count, (block, number) => {
        emitBlockTotal(block, total);
        storeState(code, stateAt(monoid, totals, number), total);
      });
      count.set(blockCount(count));
    });
    loadState(monoid, totals, total);
  });
  storeState(code, into, total);
  return code.finish();
}
