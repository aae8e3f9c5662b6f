import type { SortCommand } from '../../../../primitives/contract/backend.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import { Graph } from '../../../analyses/straight-line.ts';
import {
  argumentWords,
  beginKernel,
  CHUNK,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
  lengthWords,
  shapeKey,
  shapeOf,
} from '../../commands/kernel-arguments.ts';
import { fixedPhase, type Launch, type Launcher } from '../../commands/launch.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop, type VectorPart } from '../../wasm/index-loop.ts';
import { straightProgram } from '../../wasm/program-graph.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32, V128 } from '../../wasm/wasm-encoder.ts';
import { v128 } from '../../wasm/wasm-expressions.ts';
import { asInt32, type Int32Local } from '../../wasm/wasm-locals.ts';
import { store } from '../../wasm/wasm-statements.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import {
  COUNT_BYTES,
  DIGIT_BITS,
  EXTREME_BYTES,
  emitRadix,
  emitRegion,
  planBytes,
  SORT_WORDS,
  sortWord,
} from './radix.ts';

const REGIONS_PER_WORKER = 4;

/**
 * Launches a stable radix sort. The first phase writes the rows of the program. Each pass then sorts by one digit: it
 * counts the digits in each region, computes target positions, and moves the rows. A pass does nothing if all keys have
 * the same digit.
 */
export function launchSort(launcher: Launcher, command: SortCommand): Launch {
  const { extent, program, beginBit, endBit, keys, payload } = command;
  const hasPayload = entryOf(program.module).results.length > 1 && payload !== undefined;
  const shape = shapeOf([program], SORT_WORDS);
  const passes = Math.ceil((endBit - beginBit) / DIGIT_BITS);
  const write = launcher.compile(`sort ${hasPayload} ${shapeKey(shape)}`, () => [emitRowsOut(shape, hasPayload)]);
  const radix = launcher.compile(`radix ${passes} ${hasPayload}`, () => emitRadix(passes, hasPayload));

  const length = lengthWords(extent, launcher.addresses);
  const capacity = length[2];
  const regions = launcher.workers === 1 ? 1 : launcher.workers * REGIONS_PER_WORKER;
  const scratch = (): number => launcher.scratch(4 * capacity);
  const out = [
    keys === undefined ? scratch() : launcher.addresses.of(keys, capacity),
    hasPayload ? launcher.addresses.of(payload, capacity) : 0,
  ];
  const other = [scratch(), hasPayload ? scratch() : 0];
  const own = [
    // If the number of passes is even, the rows end in the buffers in which they began, so the first phase writes them
    // to the result buffers.
    ...(passes % 2 === 0 ? [...out, ...other] : [...other, ...out]),
    ...out,
    launcher.scratch(regions * EXTREME_BYTES),
    launcher.scratch(regions * COUNT_BYTES),
    launcher.scratch(planBytes(passes)),
    regions,
    beginBit,
    endBit,
  ];
  const [plan, ...rest] = radix.functions;
  const copyOut = rest.pop()!;
  return {
    words: argumentWords(shape, launcher.addresses, length, 0, own),
    phases: [
      fixedPhase(write.functions[0]!, regions),
      fixedPhase(plan!, 1),
      // The second function of a pass, which computes the target positions, runs as a single chunk.
      ...rest.map((run, k) => fixedPhase(run, k % 3 === 1 ? 1 : regions)),
      fixedPhase(copyOut, regions),
    ],
  };
}

/** Writes the rows of a region, and stores the bitwise AND and the bitwise OR of the region's keys. */
function emitRowsOut(shape: KernelShape, hasPayload: boolean): FunctionBody {
  const { code, inputs } = beginKernel(shape);
  const targets = [emitOwnWord(code, sortWord.firstKeys)];
  if (hasPayload) targets.push(emitOwnWord(code, sortWord.firstPayload));
  const { from, to } = emitRegion(code, inputs.extent);
  const all = code.local(I32);
  const any = code.local(I32);
  all.set(-1);
  any.set(0);
  const index = code.local(I32);
  emitIndexLoop(code, {
    from,
    to,
    index,
    scalar: () => {
      const row = inlineEntry(code, inputs.environments[0]!, [index]);
      const words = row.map(asInt32);
      for (const [column, target] of targets.entries()) store(code, target.add(index.shl(2)), words[column]!);
      all.set(all.and(words[0]!));
      any.set(any.or(words[0]!));
      releaseAll(code, row);
    },
    vector: vectorRows(code, inputs, index, targets, all, any),
  });
  const extremes = emitOwnWord(code, sortWord.extremes);
  for (const [k, bits] of [all, any].entries()) store(code, extremes.add(CHUNK.mul(EXTREME_BYTES)), bits, 4 * k);
  return code.finish();
}

function vectorRows(
  code: Code,
  inputs: KernelInputs,
  index: Int32Local,
  targets: readonly Int32Local[],
  all: Int32Local,
  any: Int32Local,
): VectorPart | undefined {
  const graph = new Graph();
  const results = straightProgram(graph, inputs.shape, 0);
  if (results === undefined) return undefined;
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.prepare(results.slice(0, targets.length));
  const allLanes = code.local(V128);
  const anyLanes = code.local(V128);
  return {
    step: 4,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => {
      allLanes.set(v128([-1, -1, -1, -1]));
      anyLanes.set(v128([0, 0, 0, 0]));
    },
    round: () => {
      lanes.begin(0);
      const row = targets.map((_, column) => lanes.local(results[column]!));
      for (const [column, target] of targets.entries()) store(code, target.add(index.shl(2)), row[column]!);
      allLanes.set(allLanes.and(row[0]!));
      anyLanes.set(anyLanes.or(row[0]!));
    },
    leave: () => {
      for (const lane of [0, 1, 2, 3]) {
        all.set(all.and(allLanes.extract(lane)));
        any.set(any.or(anyLanes.extract(lane)));
      }
    },
  };
}
