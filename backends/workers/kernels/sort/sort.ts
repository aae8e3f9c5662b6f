import type { Program, SortCommand } from '../../../../primitives/contract/backend.ts';
import { entryOf } from '../../../../primitives/ir/ir.ts';
import { Graph, straightLine } from '../../../analyses/straight-line.ts';
import {
  argumentWords,
  CHUNK,
  emitInputs,
  emitOwnWord,
  type KernelInputs,
  type KernelShape,
  kernelParameters,
  type Layout,
  layoutOf,
  lengthWords,
  shapeKey,
} from '../../commands/kernel-arguments.ts';
import { fixedPhase, type Launch, type Launcher } from '../../commands/launch.ts';
import { VectorCode } from '../../wasm/emit-simd.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop, type VectorPart } from '../../wasm/index-loop.ts';
import { slotsOf } from '../../wasm/program-graph.ts';
import { emitExtract } from '../../wasm/vector-operations.ts';
import { Code } from '../../wasm/wasm-code.ts';
import { type FunctionBody, I32, op, simd, V128 } from '../../wasm/wasm-encoder.ts';
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
 * A stable radix sort: the program's rows are first written out, then moved digit by digit; each pass counts by region,
 * computes the places of the digits, and moves the rows. Digits that are equal in all keys are skipped, which the
 * workers detect.
 */
export function launchSort(launcher: Launcher, command: SortCommand): Launch {
  const { extent, program, beginBit, endBit, keys, payload } = command;
  const hasPayload = entryOf(program.module).results.length > 1 && payload !== undefined;
  const shape: KernelShape = { programs: [program], stores: [], words: SORT_WORDS };
  const layout = layoutOf(shape.programs);
  const passes = Math.ceil((endBit - beginBit) / DIGIT_BITS);
  const write = launcher.compile(`sort ${hasPayload} ${shapeKey(shape, layout)}`, () => [
    emitRowsOut(shape, layout, hasPayload),
  ]);
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
    // After an even number of passes, the rows are back where they started.
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
    words: argumentWords(shape, layout, launcher.addresses, length, 0, own),
    phases: [
      fixedPhase(write.functions[0]!, regions),
      fixedPhase(plan!, 1),
      // In a pass, only the computation of places runs on a single worker.
      ...rest.map((run, k) => fixedPhase(run, k % 3 === 1 ? 1 : regions)),
      fixedPhase(copyOut, regions),
    ],
  };
}

/** Writes the rows of a region, and records which bits their keys share. */
function emitRowsOut(shape: KernelShape, layout: Layout, hasPayload: boolean): FunctionBody {
  const code = new Code(kernelParameters);
  const inputs = emitInputs(code, shape, layout, []);
  const targets = [emitOwnWord(code, sortWord.firstKeys)];
  if (hasPayload) targets.push(emitOwnWord(code, sortWord.firstPayload));
  const { from, to } = emitRegion(code, inputs.extent);
  const all = code.local(I32);
  const any = code.local(I32);
  code.i32(-1);
  code.set(all);
  code.i32(0);
  code.set(any);
  const index = code.local(I32);
  emitIndexLoop(code, {
    from,
    to,
    index,
    scalar: () => {
      const row = inlineEntry(code, inputs.environments[0]!, [index]);
      targets.forEach((target, column) => {
        pushRow(code, target, index);
        code.get(row[column]!);
        code.memory(op.i32Store);
      });
      fold(code, all, op.i32And, () => code.get(row[0]!));
      fold(code, any, op.i32Or, () => code.get(row[0]!));
      releaseAll(code, row);
    },
    vector: vectorRows(code, shape.programs[0]!, layout, inputs, index, targets, all, any),
  });
  const extremes = emitOwnWord(code, sortWord.extremes);
  [all, any].forEach((bits, k) => {
    code.get(extremes);
    code.get(CHUNK);
    code.i32(EXTREME_BYTES);
    code.op(op.i32Mul, op.i32Add);
    code.get(bits);
    code.memory(op.i32Store, 4 * k);
  });
  return code.finish();
}

function fold(code: Code, into: number, instruction: number, value: () => void): void {
  code.get(into);
  value();
  code.op(instruction);
  code.set(into);
}

function pushRow(code: Code, target: number, index: number): void {
  code.get(target);
  code.get(index);
  code.i32(2);
  code.op(op.i32Shl, op.i32Add);
}

function vectorRows(
  code: Code,
  program: Program,
  layout: Layout,
  inputs: KernelInputs,
  index: number,
  targets: readonly number[],
  all: number,
  any: number,
): VectorPart | undefined {
  const graph = new Graph();
  const results = straightLine(graph, program.module, slotsOf(layout, 0), [graph.index()]);
  if (results === undefined) return undefined;
  const lanes = new VectorCode(code, { ...inputs, index });
  lanes.prepare(results.slice(0, targets.length));
  const allLanes = code.local(V128);
  const anyLanes = code.local(V128);
  return {
    step: 4,
    narrow: (from, to) => lanes.narrow(from, to),
    enter: () => {
      code.v128([-1, -1, -1, -1]);
      code.set(allLanes);
      code.v128([0, 0, 0, 0]);
      code.set(anyLanes);
    },
    round: () => {
      lanes.begin(0);
      const row = targets.map((_, column) => lanes.local(results[column]!));
      targets.forEach((target, column) => {
        pushRow(code, target, index);
        code.get(row[column]!);
        code.simdMemory(simd.store);
      });
      for (const [into, instruction] of [
        [allLanes, simd.and],
        [anyLanes, simd.or],
      ] as const) {
        code.get(into);
        code.get(row[0]!);
        code.simd(instruction);
        code.set(into);
      }
    },
    leave: () => {
      for (const lane of [0, 1, 2, 3]) {
        fold(code, all, op.i32And, () => {
          code.get(allLanes);
          emitExtract(code, 'u32', lane);
        });
        fold(code, any, op.i32Or, () => {
          code.get(anyLanes);
          emitExtract(code, 'u32', lane);
        });
      }
    },
  };
}
