import type { MonoidProgram, ScanCommand } from '../../../../primitives/contract/backend.ts';
import {
  ARGUMENTS,
  argumentWords,
  emitInputs,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
  kernelParameters,
  type Layout,
  layoutOf,
  ownWordOffset,
  resultsOf,
  shapeKey,
} from '../../commands/kernel-arguments.ts';
import { fixedPhase, type Launch, type Launcher } from '../../commands/launch.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32, op } from '../../wasm/wasm-encoder.ts';
import {
  emitIdentity,
  emitLoadState,
  emitStoreState,
  monoidKey,
  releaseAll,
  stateLocals,
} from '../shared/monoid-code.ts';
import { emitStores, emitVectorStores } from '../shared/stores.ts';
import {
  emitBlockCount,
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
  emitCount,
  emitWorkerRoom,
  pushState,
  roomBytes,
} from '../shared/tree-code.ts';
import { emitWholePrefixes, type VisitFour, type WholeBlock } from '../shared/tree-vectors.ts';
import { type ScanNodes, scanNodes } from './scan-nodes.ts';

/** Scans in the canonical tree: totals of all blocks, prefixes of the blocks by one worker, then all blocks once more. */
export function launchTreeScan(launcher: Launcher, command: ScanCommand): Launch {
  const { extent, program, monoid, emit, stores, total } = command;
  const shape: KernelShape = { programs: [program, emit], stores, words: 2 + LEVELS };
  const layout = layoutOf(shape.programs);
  const kernel = launcher.compile(`tree scan ${monoidKey(monoid)} ${shapeKey(shape, layout)}`, () => [
    emitTotals(shape, layout, monoid),
    emitScanTotals(shape, layout, monoid),
    emitScanBlocks(shape, layout, monoid),
  ]);
  const { length, chunkSize } = extentWords(launcher, extent);
  const own = [
    total === undefined ? 0 : launcher.addresses.of(total, monoid.types.length),
    launcher.scratch(launcher.workers * roomBytes(monoid)),
    ...levelBytes(length[2], monoid).map((bytes) => launcher.scratch(bytes)),
  ];
  return {
    words: argumentWords(shape, layout, launcher.addresses, length, chunkSize, own),
    phases: [
      { run: kernel.functions[0]!, length, chunkSize, minimum: 0 },
      fixedPhase(kernel.functions[1]!, 1),
      { run: kernel.functions[2]!, length, chunkSize, minimum: 0 },
    ],
  };
}

/** Up through the levels with totals, down with exclusive prefixes in their place; the total of all on the way. */
function emitScanTotals(shape: KernelShape, layout: Layout, monoid: MonoidProgram): FunctionBody {
  const code = new Code(kernelParameters);
  const { extent } = emitInputs(code, { ...shape, stores: [] }, layout, []);
  const room = emitWorkerRoom(code, monoid, ROOMS);
  const into = emitOwnWord(code, INTO);
  const level = code.local(I32);
  const states = code.local(I32);
  const above = code.local(I32);
  const count = code.local(I32);
  const total = stateLocals(code, monoid);

  code.i32(0);
  code.set(level);
  emitBlockCount(code, extent, count);
  code.while(
    () => {
      code.get(level);
      code.i32(LEVELS - 1);
      code.op(op.i32LtU);
    },
    () => {
      pushLevel(code, level, 0);
      code.set(states);
      pushLevel(code, level, 1);
      code.set(above);
      emitStateBlocks(code, monoid, room, states, count, (block, number) => {
        emitBlockTotal(block, total);
        emitStoreState(code, monoid, () => pushState(code, monoid, above, number), total);
      });
      emitBlockCount(code, count, count);
      add(code, level, 1);
    },
  );
  emitIdentity(code, monoid, total);
  pushLevel(code, level, 0);
  code.set(states);
  emitStateBlocks(code, monoid, room, states, count, (block) => emitBlockTotal(block, total));
  code.get(into);
  code.when(() => emitStoreState(code, monoid, () => code.get(into), total));

  const before: Before = { exists: code.local(I32), state: stateLocals(code, monoid) };
  const done = code.block();
  const again = code.loop();
  emitCountAt(code, extent, level, count);
  pushLevel(code, level, 0);
  code.set(states);
  emitStateBlocks(code, monoid, room, states, count, (block, number) => {
    code.get(number);
    code.tee(before.exists);
    // The highest level has one block, and nothing before it.
    code.when(() => emitLoadState(code, monoid, () => pushState(code, monoid, above, number), before.state));
    emitBlockPrefixes(block, before, (index, exclusive) =>
      emitStoreState(code, monoid, () => pushState(code, monoid, states, index), exclusive),
    );
  });
  code.get(level);
  code.op(op.i32Eqz);
  code.brIf(done);
  code.get(states);
  code.set(above);
  add(code, level, -1);
  code.br(again);
  code.end();
  code.end();
  return code.finish();
}

/** Pushes the address of the totals of the level `level + higher`. */
function pushLevel(code: Code, level: number, higher: number): void {
  code.get(ARGUMENTS);
  code.get(level);
  code.i32(2);
  code.op(op.i32Shl, op.i32Add);
  code.memory(op.i32Load, ownWordOffset(TOTALS + higher));
}

/** The number of states of a level. */
function emitCountAt(code: Code, extent: number, level: number, into: number): void {
  emitBlockCount(code, extent, into);
  emitCount(code, level, () => emitBlockCount(code, into, into));
}

function add(code: Code, local: number, value: number): void {
  code.get(local);
  code.i32(value);
  code.op(op.i32Add);
  code.set(local);
}

/** Scans the blocks of a chunk, each behind the prefix of its block. */
function emitScanBlocks(shape: KernelShape, layout: Layout, monoid: MonoidProgram): FunctionBody {
  const code = new Code(kernelParameters);
  const inputs = emitInputs(code, shape, layout, resultsOf(shape.programs[1]!));
  const totals = emitOwnWord(code, TOTALS);
  const before: Before = { exists: code.local(I32), state: stateLocals(code, monoid) };
  const nodes = scanNodes(shape.programs[0]!, shape.programs[1]!, layout, monoid);
  const whole = nodes && wholeBlocks(code, monoid, inputs, nodes.elements, nodes.results);
  emitChunkBlocks(code, monoid, inputs, whole, (block, number) => {
    code.get(number);
    code.tee(before.exists);
    code.when(() => emitLoadState(code, monoid, () => pushState(code, monoid, totals, number), before.state));
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
