import { capacityOf, type Extent, type Program, type SortCommand } from '../../../../primitives/contract/backend.ts';
import type { Engine } from '../../launches/engine.ts';
import type { Memory } from '../../memory/memory.ts';
import { separate } from '../../memory/snapshot.ts';
import { isLight } from '../../wgsl/module-size.ts';
import { forEach } from '../rows/for-each.ts';
import { columnsProgram } from '../shared/columns-program.ts';
import { storeResults } from '../shared/stored-source.ts';
import { beginSweep } from './one-sweep.ts';
import { radixPass } from './radix-pass.ts';
import { type Columns, passesOf } from './radix-rows.ts';
import { sortTile } from './tile-sort.ts';

/** Runs a sort command by a radix sort, lowest digit first; see `SortCommand`. */
export function sort(engine: Engine, command: SortCommand): void {
  const { beginBit, endBit, keys, payload } = command;
  const targets: Columns = { keys, payload };
  const written = [keys, payload].filter((cell) => cell !== undefined).map(({ buffer }) => buffer);
  const capacity = capacityOf(command.extent);
  if (written.length === 0 || capacity === 0) return;
  const inputs = separate(engine, command.extent, [command.program] as const, written);
  const [program] = inputs.programs;
  if (beginBit === endBit) copyColumns(engine, inputs.extent, program, targets, capacity);
  else if (isLight(program.module)) sortDigits(engine, inputs.extent, program, command, targets, capacity);
  else {
    // The first pass evaluates rows twice. Rows that are expensive to evaluate are therefore stored first.
    const stored = storeResults(engine, inputs.extent, program);
    sortDigits(engine, inputs.extent, stored.program, command, targets, capacity);
    stored.release();
  }
  inputs.release();
}

function copyColumns(
  engine: Engine,
  extent: Extent,
  program: Program,
  { keys, payload }: Columns,
  capacity: number,
): void {
  const stores = [keys, payload].flatMap((cell, value) =>
    cell === undefined ? [] : [{ buffer: cell.buffer, offset: cell.word, capacity, value }],
  );
  forEach(engine, extent, program, stores);
}

function sortDigits(
  engine: Engine,
  extent: Extent,
  program: Program,
  { beginBit, endBit, payload }: SortCommand,
  targets: Columns,
  capacity: number,
): void {
  const { pool } = engine;
  if (sortTile(engine, extent, program, [beginBit, endBit], targets)) return;
  const passes = passesOf(beginBit, endBit);
  const allocate = (): Memory[] => [
    pool.allocate(capacity),
    ...(payload === undefined ? [] : [pool.allocate(capacity)]),
  ];
  // Temporary columns. All passes but the last write to them alternately.
  const between = Array.from({ length: Math.min(2, passes.length - 1) }, allocate);
  const sweep = beginSweep(engine, extent, program, passes);
  for (const [pass, digit] of passes.entries()) {
    const from = pass === 0 ? program : columnsProgram(between[(pass - 1) % 2]!, capacity);
    const into = pass === passes.length - 1 ? targets : columnsOf(between[pass % 2]!);
    if (sweep === undefined || !sweep.run(from, into, pass)) radixPass(engine, extent, from, into, digit);
  }
  sweep?.release();
  for (const memory of between.flat()) pool.release(memory);
}

function columnsOf([keys, payload]: readonly Memory[]): Columns {
  return {
    keys: { buffer: keys!, word: 0 },
    payload: payload === undefined ? undefined : { buffer: payload, word: 0 },
  };
}
