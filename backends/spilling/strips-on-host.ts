import type { StripsCommand } from '../../primitives/contract/backend.ts';
import { ownedArrays } from '../../primitives/ir/access-patterns.ts';
import type { ArrayReader } from '../reference/emit-javascript.ts';
import { ownedArray, type Strip } from '../reference/strips.ts';
import { wordReaderOf } from './lengths.ts';
import { bringToHost, createClock, readerOf, STATEMENTS_BETWEEN_LOOKS } from './on-host.ts';
import type { Spillable } from './places.ts';
import { evaluatorOf } from './walk-on-host.ts';
import type { WindowMachine } from './windows.ts';

/**
 * Runs strips on the host, one after the other, if their columns do not fit on the device. As in `forEachOnHost`, the
 * thread yields every few milliseconds, even in the middle of a strip.
 *
 * @throws DeviceLostError `device/hang`
 */
export async function stripsOnHost({ inner, places, hangLimit }: WindowMachine, command: StripsCommand): Promise<void> {
  const { extent, rows } = command;
  const reader = wordReaderOf(inner, places);
  const length = await reader.length(extent);
  const { module, arrays, uniforms } = await reader.program(command.program);
  const targets = await bringToHost(places, [...arrays.values()], command.owned);
  const owned = ownedArrays(module);
  const strip: Strip = { first: 0, end: 0 };
  const readers = [...arrays].map(([name, binding]): [string, ArrayReader] => {
    const type = module.arrays.get(name)!;
    const buffer = binding.buffer as Spillable;
    if (!owned.has(name)) return [name, readerOf(places.hostOf(buffer), binding, type)];
    const words = targets.get(buffer)!;
    const write = (index: number, word: number): void => words.set(binding.offset + index, word);
    return [name, ownedArray(readerOf(words, binding, type), type, strip, write)];
  });
  const evaluator = evaluatorOf(module, new Map(readers), uniforms, { roundsLeft: 0 });
  const clock = createClock(hangLimit, () => inner.sync());
  let left = STATEMENTS_BETWEEN_LOOKS;
  for (let number = 0; number * rows < length; number++) {
    strip.first = number * rows;
    strip.end = Math.min(length, strip.first + rows);
    const run = evaluator.evaluate([number, strip.first, strip.end]);
    while (run.next().done !== true) await clock.look(false);
    places.report.rowsOnHost += strip.end - strip.first;
    left -= evaluator.statements;
    if (left > 0) continue;
    await clock.look(true);
    left = STATEMENTS_BETWEEN_LOOKS;
  }
  for (const [buffer, words] of targets) places.keepOnHost(buffer, words);
}
