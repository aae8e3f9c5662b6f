import type { MonoidProgram, Program, ScanLinesCommand } from '../../../../primitives/contract/backend.ts';
import { assemble, leafAt } from '../../../../primitives/derived/assembled-program.ts';
import { literal } from '../../../../primitives/functors/recorder.ts';
import { type U32, Value } from '../../../../primitives/functors/value.ts';
import { callPlain } from '../../../../primitives/functors/wrap-module.ts';
import {
  argumentWords,
  beginKernel,
  emitChunk,
  emitOwnWord,
  type KernelShape,
  resultsOf,
  shapeKey,
  shapeOf,
} from '../../commands/kernel-arguments.ts';
import type { Launch, Launcher } from '../../commands/launch.ts';
import { type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { i32 } from '../../wasm/wasm-expressions.ts';
import { forRounds } from '../../wasm/wasm-statements.ts';
import { emitStraightRange } from '../rows/for-each.ts';
import { emitIdentity, monoidKey, stateLocals } from '../shared/monoid-code.ts';
import { scanTile } from './scan.ts';
import { vectorScan } from './scan-vectors.ts';

/** Cells of a chunk of whole rows, about. */
const CELLS = 16384;

/** Columns of a strip. The row above, which the strip combines with, is in the first cache. */
const STRIP = 512;

/** Scans the rows or the columns of a grid, in one pass over its cells. */
export function launchScanLines(launcher: Launcher, command: ScanLinesCommand): Launch {
  return command.axis === 'rows' ? launchRows(launcher, command) : launchColumns(launcher, command);
}

/** Chunks are whole rows, which are scanned one after the other. */
function launchRows(launcher: Launcher, command: ScanLinesCommand): Launch {
  const { rows, columns, program, monoid, inclusive, stores } = command;
  const { types } = monoid;
  const emit = assemble('prefixInRow', types, { parameters: [...types, ...types] }, (_index, { parameters }) =>
    inclusive ? parameters.slice(types.length) : parameters.slice(0, types.length),
  );
  const shape = shapeOf([program, emit], 1, stores);
  const key = `scanRows ${monoidKey(monoid)} ${shapeKey(shape)}`;
  const kernel = launcher.compile(key, () => [emitScanRows(shape, monoid)]);
  const chunkSize = Math.max(1, Math.round(CELLS / Math.max(1, columns)));
  const length = [0, 0, columns === 0 ? 0 : rows] as const;
  return {
    words: argumentWords(shape, launcher.addresses, length, chunkSize, [columns]),
    phases: [{ run: kernel.functions[0]!, length, chunkSize, minimum: 0 }],
  };
}

function emitScanRows(shape: KernelShape, monoid: MonoidProgram): FunctionBody {
  const { code, inputs } = beginKernel(shape, resultsOf(shape.programs[1]!));
  const chunk = emitChunk(code, inputs.extent);
  const columns = emitOwnWord(code, 0);
  const [row, from, to, index] = [code.local(I32), code.local(I32), code.local(I32), code.local(I32)];
  const state = stateLocals(code, monoid);
  const vectors = vectorScan(code, { inputs, monoid, form: undefined, index, to, state, end: state });
  const tile = { code, monoid, inputs, from, to, index, state, vectors, room: undefined, alone: true };
  row.set(chunk.from);
  from.set(row.mul(columns));
  forRounds(code, row, chunk.to, 1, () => {
    to.set(from.add(columns));
    emitIdentity(monoid, state);
    scanTile(tile);
    from.set(to);
  });
  return code.finish();
}

/** Chunks are strips of columns, whose rows follow each other: a row is combined with the one that was just stored. */
function launchColumns(launcher: Launcher, command: ScanLinesCommand): Launch {
  const { rows, columns, stores } = command;
  const shape = shapeOf([firstRow(command), nextRow(command)], 2, stores);
  const kernel = launcher.compile(`scanColumns ${shapeKey(shape)}`, () => [emitScanColumns(shape)]);
  const even = Math.ceil(columns / launcher.workers / 16) * 16;
  const chunkSize = Math.max(16, Math.min(STRIP, even));
  const length = [0, 0, rows === 0 ? 0 : columns] as const;
  return {
    words: argumentWords(shape, launcher.addresses, length, chunkSize, [rows, columns]),
    phases: [{ run: kernel.functions[0]!, length, chunkSize, minimum: 0 }],
  };
}

/** The results of the first row. */
function firstRow({ program, monoid: { types, identity }, inclusive }: ScanLinesCommand): Program {
  const given = inclusive ? { programs: { element: program } } : {};
  return assemble('firstOfColumn', types, given, (index, { programs }) =>
    inclusive ? programs.element!([index]) : types.map((type, k) => new Value(literal(type, identity[k]!))),
  );
}

/** The results of a cell of another row, which read what was stored for the cell above. */
function nextRow({ rows, columns, program, monoid, inclusive, stores }: ScanLinesCommand): Program {
  const { types } = monoid;
  const above = stores.map(({ buffer, offset }, k) => leafAt({ type: types[k]!, buffer, offset }, rows * columns));
  const arrays = Object.fromEntries(above.map((leaf, k) => [`above${k}`, leaf]));
  const given = { arrays, uniforms: { columns }, programs: { element: program } };
  return assemble('nextOfColumn', types, given, (index, { arrays, uniforms, programs }) => {
    const before: U32 = index.sub(uniforms.columns!);
    const sums = above.map((_, k) => arrays[`above${k}`]!.at(before));
    const element = programs.element!([inclusive ? index : before]);
    const operands = [...sums, ...element].map(({ operand }) => operand);
    return callPlain(monoid.module, operands).map((local) => new Value(local));
  });
}

function emitScanColumns(shape: KernelShape): FunctionBody {
  const { code, inputs } = beginKernel(shape, resultsOf(shape.programs[0]!));
  const { from, to } = emitChunk(code, inputs.extent);
  const [rows, columns] = [emitOwnWord(code, 0), emitOwnWord(code, 1)];
  const [row, index] = [code.local(I32), code.local(I32)];
  const range = { from, to, index };
  emitStraightRange(code, inputs, range, 0);
  row.set(i32(1));
  forRounds(code, row, rows, 1, () => {
    from.set(from.add(columns));
    to.set(to.add(columns));
    emitStraightRange(code, inputs, range, 1);
  });
  return code.finish();
}
