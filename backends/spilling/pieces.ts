import type { ArrayBinding, Backend, DeviceBuffer, Program } from '../../primitives/contract/backend.ts';
import { type AnalysedProgram, elementsOf } from './analysis.ts';
import { perWord } from './lengths.ts';
import type { BufferPlaces, Spillable } from './places.ts';
import { type WindowModule, windowModule } from './window-module.ts';

/** A range of words of a spilled buffer that a window (range of indices) needs. */
interface NeededWords {
  readonly buffer: Spillable;
  from: number;
  to: number;
}

/** The parts of arrays that must be uploaded for a window (range of indices). */
export interface Pieces {
  /** The word ranges to upload. They are disjoint. */
  readonly ranges: readonly NeededWords[];
  /** For each program and array name, the part of the array. Arrays that the window does not read have no entry. */
  readonly of: ReadonlyMap<AnalysedProgram, ReadonlyMap<string, ArrayPiece>>;
}

interface ArrayPiece {
  /** The elements `from` (inclusive) to `to` (exclusive) of the array. */
  readonly from: number;
  readonly to: number;
  /**
   * The number of the buffer's word that contains element `from`. The entry of `ranges` that contains this word
   * contains all elements of the piece.
   */
  readonly word: number;
}

/**
 * Finds the words that a window (range of indices) needs. Overlapping reads of one buffer by several arrays are
 * uploaded once.
 */
export function findPieces(
  programs: readonly AnalysedProgram[],
  inPlace: ReadonlySet<Spillable>,
  from: number,
  to: number,
): Pieces {
  const of = new Map<AnalysedProgram, Map<string, ArrayPiece>>();
  const needed: NeededWords[] = [];
  for (const program of programs) {
    const pieces = new Map<string, ArrayPiece>();
    of.set(program, pieces);
    for (const [name, elements] of elementsOf(program, from, to)) {
      const binding = program.arrays.get(name);
      if (binding === undefined || program.placings.get(name) === 'whole') continue;
      const buffer = binding.buffer as Spillable;
      if (inPlace.has(buffer) || elements.from >= elements.to) continue;
      const each = perWord(binding.storage);
      const word = Math.floor((binding.offset + elements.from) / each);
      needed.push({ buffer, from: word, to: Math.ceil((binding.offset + elements.to) / each) });
      pieces.set(name, { ...elements, word });
    }
  }
  return { ranges: merged(needed), of };
}

function merged(ranges: readonly NeededWords[]): NeededWords[] {
  const result: NeededWords[] = [];
  for (const range of [...ranges].sort((a, b) => a.from - b.from)) {
    const open = result.find(({ buffer, to }) => buffer === range.buffer && range.from <= to);
    if (open === undefined) result.push({ ...range });
    else open.to = Math.max(open.to, range.to);
  }
  return result;
}

export function wordsOf({ ranges }: Pieces): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from, 0);
}

/** The pieces of arrays that a window (range of indices) needs, after their upload to the device. */
export interface WindowUploads {
  readonly pieces: Pieces;
  readonly buffers: ReadonlyMap<NeededWords, DeviceBuffer>;
  /** A one-word buffer that replaces every array that the window does not read. */
  readonly nothing: DeviceBuffer;
}

/** Uploads the pieces of arrays that a window needs into buffers that `take` allocates. */
export function upload(
  inner: Backend,
  places: BufferPlaces,
  pieces: Pieces,
  take: (words: number) => DeviceBuffer,
): WindowUploads {
  const buffers = new Map<NeededWords, DeviceBuffer>();
  for (const range of pieces.ranges) {
    const words = range.to - range.from;
    const buffer = take(words);
    for (const { at, data } of places.hostOf(range.buffer).pieces(range.from, words)) inner.write(buffer, at, data);
    places.report.restoredBytes += 4 * words;
    buffers.set(range, buffer);
  }
  return { pieces, buffers, nothing: take(1) };
}

/** Binds a program to uploaded pieces, for the indices `from` (inclusive) to `to` (exclusive). */
export function bindProgram(
  program: AnalysedProgram,
  uploads: WindowUploads,
  inPlace: ReadonlySet<Spillable>,
  from: number,
  to: number,
): { readonly program: Program; readonly window: WindowModule } {
  const window = windowModule(program.module, program.placings);
  const uniforms = new Map(program.uniforms).set(window.start, from);
  const arrays = new Map<string, ArrayBinding>();
  for (const [name, binding] of program.arrays) {
    const placing = program.placings.get(name);
    if (placing === undefined || placing === 'whole') {
      arrays.set(name, binding);
      continue;
    }
    uniforms.set(window.lengths.get(name)!, binding.length);
    const piece = locate(program, name, uploads, inPlace);
    const first = placing === 'aligned' ? from : piece.from;
    if (placing === 'piece') uniforms.set(window.pieces.get(name)!, first);
    const end = placing === 'aligned' ? Math.min(piece.to, to) : piece.to;
    const length = Math.max(0, end - first);
    arrays.set(name, {
      buffer: piece.buffer,
      storage: binding.storage,
      offset: length === 0 ? 0 : piece.offset + first,
      length,
    });
  }
  return { program: { module: window.module, arrays, uniforms }, window };
}

/**
 * Finds the device buffer that contains the elements of an array that a window (range of indices) needs. `offset` is
 * the position of the array's element 0 in elements from the start of the buffer. `offset` is negative if the buffer
 * starts at a later element.
 */
function locate(
  program: AnalysedProgram,
  name: string,
  { pieces, buffers, nothing }: WindowUploads,
  inPlace: ReadonlySet<Spillable>,
): { readonly buffer: DeviceBuffer; readonly offset: number; readonly from: number; readonly to: number } {
  const { buffer, storage, offset, length } = program.arrays.get(name)!;
  if (inPlace.has(buffer as Spillable)) return { buffer, offset, from: 0, to: length };
  const piece = pieces.of.get(program)!.get(name);
  if (piece === undefined) return { buffer: nothing, offset: 0, from: 0, to: 0 };
  const range = pieces.ranges.find(
    (each) => each.buffer === buffer && each.from <= piece.word && piece.word < each.to,
  )!;
  return { ...piece, buffer: buffers.get(range)!, offset: offset - range.from * perWord(storage) };
}
