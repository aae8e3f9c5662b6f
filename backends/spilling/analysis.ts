import type { ArrayBinding, DeviceBuffer, Extent, Program, Store } from '../../primitives/contract/backend.ts';
import { type Elements, elementsRead } from './index-ranges.ts';
import { type KnownProgram, perWord, type WordReader } from './lengths.ts';
import type { Spillable } from './places.ts';
import { type Placing, placingsOf } from './window-module.ts';

/** A command that runs window by window: each window is a contiguous range of its indices. */
export interface WindowedCommand {
  readonly extent: Extent;
  readonly programs: readonly Program[];
  /** The stores that write the results of the last program in `programs`. */
  readonly stores?: readonly Store[];
  /**
   * Whether stores to buffers on the host are possible, which requires that every index stores exactly once. True by
   * default.
   */
  readonly storesToHost?: boolean;
  /**
   * Buffers that the commands of the inner backend write in addition to the buffers of `stores`. All `cells` must be on
   * the device.
   */
  readonly cells?: readonly DeviceBuffer[];
  /**
   * The number of rows of every window (range of indices) except the last is a multiple of `multiple`. 1 by default.
   */
  readonly multiple?: number;
  /**
   * Words of working memory per row of a window (range of indices), not counting the memory that the inner backend's
   * commands allocate.
   */
  readonly scratch?: number;
  /** Words of working memory for the whole command, given its number of rows. */
  readonly fixed?: (length: number) => number;
}

/** A program whose array lengths are known. `placings` says how windows (ranges of indices) address each array. */
export interface AnalysedProgram extends KnownProgram {
  readonly placings: ReadonlyMap<string, Placing>;
}

/** The reads and writes of a command. All lengths are known numbers. */
export interface Analysis {
  readonly length: number;
  readonly programs: readonly AnalysedProgram[];
  readonly stores: readonly Store[];
  readonly read: ReadonlySet<Spillable>;
  readonly written: ReadonlySet<Spillable>;
  /**
   * Buffers of which a window (range of indices) may read any element. The device must hold these buffers as a whole.
   */
  readonly whole: ReadonlySet<Spillable>;
}

/**
 * If an array uses less than half of a buffer that is larger than the device memory divided by `SPARSE_SHARE`, only the
 * needed pieces of this buffer are uploaded.
 */
const SPARSE_SHARE = 8;

/**
 * Analyses which elements of its arrays each window of a command reads. The shortest window has `min` rows, and the
 * device has `memoryBytes` bytes of memory.
 */
export async function analyse(
  reader: WordReader,
  command: WindowedCommand,
  min: number,
  memoryBytes: number,
): Promise<Analysis> {
  const length = await reader.length(command.extent);
  const programs: AnalysedProgram[] = [];
  for (const program of command.programs) {
    programs.push(placed(await reader.program(program), length, min, memoryBytes));
  }
  const { stores = [] } = command;
  const bindings = programs.flatMap(({ arrays, placings }) =>
    [...arrays].map(([name, { buffer }]) => ({ buffer: buffer as Spillable, placing: placings.get(name) })),
  );
  return {
    length,
    programs,
    stores,
    read: new Set(bindings.map(({ buffer }) => buffer)),
    written: new Set(stores.map(({ buffer }) => buffer as Spillable)),
    whole: new Set(bindings.filter(({ placing }) => placing === 'whole').map(({ buffer }) => buffer)),
  };
}

/**
 * Decides how windows (ranges of indices) read each array. An array is placed whole (all of it on the device) if both
 * the first and the last window read all its elements. An array that uses less than half of a large buffer (see
 * `SPARSE_SHARE`) is never placed whole. Arrays that are not placed whole are read in pieces.
 */
function placed(program: KnownProgram, length: number, min: number, memoryBytes: number): AnalysedProgram {
  const ends = [elementsOf(program, 0, Math.min(length, min)), elementsOf(program, Math.max(0, length - min), length)];
  const isSparse = ({ buffer, length: used, storage }: ArrayBinding & { readonly length: number }): boolean =>
    4 * buffer.words > memoryBytes / SPARSE_SHARE && 2 * used < buffer.words * perWord(storage);
  const isWhole = (name: string): boolean => {
    const array = program.arrays.get(name);
    if (array !== undefined && isSparse(array)) return false;
    return length > 0 && ends.every((reads) => rows(reads.get(name)!) >= (array?.length ?? 0));
  };
  return { ...program, placings: placingsOf(program.module, isWhole) };
}

function rows({ from, to }: Elements): number {
  return to - from;
}

/** For each array, the elements that a window of indices from `from` (inclusive) to `to` (exclusive) may read. */
export function elementsOf(
  { module, arrays, uniforms, cells }: KnownProgram,
  from: number,
  to: number,
): ReadonlyMap<string, Elements> {
  if (from >= to) return new Map([...arrays.keys()].map((name) => [name, { from: 0, to: 0 }]));
  return elementsRead(module, {
    index: { min: from, max: to - 1 },
    uniform: (name) => uniforms.get(name)!,
    length: (name) => arrays.get(name)?.length ?? 0,
    cell: (name) => cells.get(name),
  });
}
