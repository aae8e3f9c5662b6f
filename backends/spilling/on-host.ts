import type { ArrayBinding, Extent, Program, Store } from '../../primitives/backend.ts';
import { entryOf, type ScalarType } from '../../primitives/functors/ir.ts';
import { bitsOfF32, f32OfBits } from '../../primitives/functors/semantics.ts';
import { type ArrayReader, compileJavaScript, type PlainValue } from '../reference/emit-javascript.ts';
import { combinations } from './host-stores.ts';
import type { HostWords } from './host-words.ts';
import { columnsProgram } from './leaves.ts';
import { perWord, wordReaderOf } from './lengths.ts';
import type { Places, Spillable } from './places.ts';
import type { Machine } from './windows.ts';

/** Rows after which other events have their turn. */
const ROWS_AT_ONCE = 2 ** 15;

/**
 * Evaluates a program on the host, one index after the other, where what it reads at random does not fit on the device:
 * large gathers. It is compiled to JavaScript that computes what a device computes whose arithmetic is exact.
 */
export async function forEachOnHost(
  { inner, places }: Machine,
  extent: Extent,
  program: Program,
  stores: readonly Store[],
): Promise<void> {
  const reader = wordReaderOf(inner, places);
  const length = await reader.length(extent);
  const { module, arrays, uniforms } = await reader.program(program);
  const read = new Set([...arrays.values()].map(({ buffer }) => buffer as Spillable));
  const written = new Set(stores.map(({ buffer }) => buffer as Spillable));
  for (const buffer of new Set([...read, ...written])) await places.copyToHost(buffer);
  const targets = new Map(
    [...written].map((buffer) => [buffer, read.has(buffer) ? places.hostOf(buffer).clone() : places.hostOf(buffer)]),
  );
  const readers = [...arrays].map(([name, binding]): [string, ArrayReader] => [
    name,
    readerOf(places, binding, module.arrays.get(name)!),
  ]);
  const entry = compileJavaScript(module)(new Map(readers), uniforms);
  const put = writerOf(entryOf(module).results, stores, targets);
  for (let from = 0; from < length; from += ROWS_AT_ONCE) {
    const to = Math.min(length, from + ROWS_AT_ONCE);
    for (let i = from; i < to; i++) put(i, entry(i));
    places.report.rowsOnHost += to - from;
    await new Promise((resolve) => setTimeout(resolve));
    // Rejects where it was aborted meanwhile.
    await inner.sync();
  }
  for (const [buffer, words] of targets) places.keepOnHost(buffer, words);
}

function readerOf(
  places: Places,
  { buffer, storage, offset, length }: ArrayBinding & { readonly length: number },
  type: ScalarType,
): ArrayReader {
  const words = places.hostOf(buffer as Spillable);
  const each = perWord(storage);
  const bits = 32 / each;
  const signed = storage.startsWith('i');
  const element = (index: number): number => {
    const at = offset + index;
    const word = words.get(Math.floor(at / each));
    if (storage === 'f32') return f32OfBits(word);
    const left = word << (32 - bits * ((at % each) + 1));
    return signed ? left >> (32 - bits) : left >>> (32 - bits);
  };
  return { at: type === 'bool' ? (index) => element(index) !== 0 : element, length: () => length };
}

function writerOf(
  types: readonly ScalarType[],
  stores: readonly Store[],
  targets: ReadonlyMap<Spillable, HostWords>,
): (index: number, results: readonly PlainValue[]) => void {
  const word = (results: readonly PlainValue[], result: number): number =>
    types[result] === 'f32' ? bitsOfF32(results[result] as number) : Number(results[result]) >>> 0;
  return (index, results) => {
    for (const { buffer, offset, capacity, value, index: at, guard, combine } of stores) {
      const place = at === undefined ? index : (results[at] as number);
      if ((guard !== undefined && results[guard] !== true) || place >= capacity) continue;
      const target = targets.get(buffer as Spillable)!;
      const stored = word(results, value);
      const old = combine === undefined ? 0 : target.get(offset + place);
      target.set(offset + place, combine === undefined ? stored : combinations[combine](old, stored));
    }
  };
}

/** Runs a command on the results of a program, which are computed on the host first. */
export async function withResultsOnHost(
  machine: Machine,
  extent: Extent,
  program: Program,
  command: (program: Program) => Promise<void>,
): Promise<void> {
  const { places, inner } = machine;
  const length = await wordReaderOf(inner, places).length(extent);
  const { results } = entryOf(program.module);
  const buffers: Spillable[] = [];
  try {
    for (const _ of results) buffers.push(places.allocate(Math.max(1, length), false));
    const stores = buffers.map((buffer, value): Store => ({ buffer, offset: 0, capacity: length, value }));
    await forEachOnHost(machine, extent, program, stores);
    await command(columnsProgram(results, buffers, length));
  } finally {
    for (const buffer of buffers) places.release(buffer);
  }
}
