import type { ArrayBinding, DeviceBuffer, Extent, Program, Store } from '../../primitives/contract/backend.ts';
import { type Elements, elementsRead } from './index-ranges.ts';
import { type KnownProgram, perWord, type WordReader } from './lengths.ts';
import type { Spillable } from './places.ts';
import { type Placing, placingsOf } from './window-module.ts';

/** A command that is to run in windows of its indices. */
export interface WindowedCommand {
  readonly extent: Extent;
  readonly programs: readonly Program[];
  /** Stores of the results of the last program. */
  readonly stores?: readonly Store[];
  /** Whether stores may go to the host. If so, every index stores exactly once. */
  readonly storesToHost?: boolean;
  /** Buffers that inner commands write and that must be on the device. */
  readonly cells?: readonly DeviceBuffer[];
  /** The window length in rows is a multiple of this. */
  readonly multiple?: number;
  /** Words of working memory per row of a window, beyond what inner commands allocate. */
  readonly scratch?: number;
  /** Words of working memory for the whole command. */
  readonly fixed?: (length: number) => number;
}

/** A program whose lengths are known, and how its windows address the elements of its arrays. */
export interface AnalysedProgram extends KnownProgram {
  readonly placings: ReadonlyMap<string, Placing>;
}

/** What a command reads and writes, with all lengths known. */
export interface Analysis {
  readonly length: number;
  readonly programs: readonly AnalysedProgram[];
  readonly stores: readonly Store[];
  readonly read: ReadonlySet<Spillable>;
  readonly written: ReadonlySet<Spillable>;
  /** Buffers that every window may read at any element. */
  readonly whole: ReadonlySet<Spillable>;
}

/** A mostly empty buffer larger than 1/`SPARSE_SHARE` of the device memory is not uploaded whole. */
const SPARSE_SHARE = 8;

/**
 * Finds out how far the windows of a command read, the shortest of which has `min` rows, on a device with memory of
 * `memoryBytes` bytes.
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
 * How a window of a program reads an array: whole if the windows at both ends read all of it, else a piece. A large,
 * mostly empty buffer (a column whose capacity is far above its length, for example) is also read as a piece.
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

/** The elements of arrays that a window of a program may read. */
export function elementsOf(
  { module, arrays, uniforms, cells }: KnownProgram,
  from: number,
  to: number,
): ReadonlyMap<string, Elements> {
  if (from >= to) return new Map([...arrays.keys()].map((name) => [name, { from: 0, to: 0 }]));
  return elementsRead(module, {
    index: { lo: from, hi: to - 1 },
    uniform: (name) => uniforms.get(name)!,
    length: (name) => arrays.get(name)?.length ?? 0,
    cell: (name) => cells.get(name),
  });
}
