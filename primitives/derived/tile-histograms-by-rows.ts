import {
  type Backend,
  capacityOf,
  type DecodeTilesCommand,
  type DeviceBuffer,
  type HistogramCommand,
  type Program,
  type TileHistogramsCommand,
  type WalkCommand,
} from '../contract/backend.ts';
import { Let } from '../functors/control.ts';
import { u32 } from '../functors/functor.ts';
import { select } from '../functors/standard/choose.ts';
import type { Bool, U32 } from '../functors/value.ts';
import type { ScalarType } from '../ir/ir.ts';
import { assemble, type BoundArray, withBuffers, wordsAt, zeroWords } from './assembled-program.ts';
import { decodeTilesByWalks } from './decode-tiles-by-walks.ts';

/** A bin that no histogram has, and a word at which no tile begins. */
const NONE = 0xffffffff;

/** Bits of a word of a mask. */
const WORD = 32;

/**
 * Fields of the record of a part, each stored for all parts: one more than the index of its tile (0 for a part of no
 * tile), its histogram, where its bits begin and their pitch, and where the hidden bits of its tile begin.
 */
const FIELDS = 5;

/**
 * Decodes all tiles with parts, notes for each part its tile, and counts cells as rows of a histogram: a row for each
 * part and word of its mask. Allocates memory for the cells and the notes.
 */
export function tileHistogramsByRows(backend: Backend, command: TileHistogramsCommand): void {
  const { extent, words, columns, rows, bits, parts, bins, histograms, into } = command;
  const tiles = capacityOf(extent);
  const counters = bins * histograms;
  if (tiles === 0 || parts === 0) {
    zeroWords(backend, counters, { buffer: into.buffer, offset: into.word, capacity: counters });
    return;
  }
  withBuffers(backend, (take) => {
    const cells = take((tiles * columns * rows * bits) / 32);
    const notes = take(FIELDS * parts);
    const decode: DecodeTilesCommand = {
      kind: 'decodeTiles',
      ...{ extent, tile: tilesWithParts(command), words, columns, rows, bits },
      into: { buffer: cells, word: 0 },
    };
    if (!backend.run(decode)) decodeTilesByWalks(backend, decode);
    zeroWords(backend, FIELDS * parts, { buffer: notes, offset: 0, capacity: FIELDS * parts });
    backend.run(noteParts(command, notes));
    backend.run({
      kind: 'histogram',
      extent: (parts * columns * rows) / WORD,
      ...countRows(command, cells, wordsAt(notes, FIELDS * parts)),
      ...{ bins, histograms, into },
    });
  });
}

/** Where tiles begin, as `decodeTiles` takes it. A tile without parts does not begin within the words. */
function tilesWithParts({ tile }: TileHistogramsCommand): Program {
  return assemble('tileWithParts', ['u32', 'u32'], { programs: { tile } }, (t, { programs }) => {
    const [start, first, begin, end] = programs.tile!([t]) as U32[];
    return [select(u32(NONE), start!, begin!.lt(end!)), first!];
  });
}

/** A walk over the parts of each tile, which stores their records. */
function noteParts({ extent, tile, part, parts }: TileHistogramsCommand, notes: DeviceBuffer): WalkCommand {
  const start = assemble('tileParts', ['bool', 'u32', 'u32', 'u32'], { programs: { tile } }, (t, { programs }) => {
    const [, , begin, end, hidden] = programs.tile!([t]) as U32[];
    return [begin!.lt(end!), begin!, end!, hidden ?? u32(0)];
  });
  const step = assemble(
    'tilePart',
    ['bool', ...Array.from({ length: FIELDS + 2 }, (): ScalarType => 'u32')],
    { programs: { part }, parameters: ['u32', 'u32', 'u32'] },
    (t, { programs, parameters }) => {
      const [p, end, hidden] = parameters as [U32, U32, U32];
      const next = Let(p.add(1));
      return [next.lt(end), next, p, t.add(1), ...programs.part!([p]), hidden];
    },
  );
  const stores = Array.from({ length: FIELDS }, (_, field) => ({
    ...{ buffer: notes, offset: field * parts, capacity: parts },
    ...{ index: 2, value: 3 + field },
  }));
  return { kind: 'walk', extent, start, step, changing: 1, steps: parts, stores };
}

/** The programs that count the cells of a word of a part's mask. */
function countRows(
  command: TileHistogramsCommand,
  buffer: DeviceBuffer,
  notes: BoundArray,
): Pick<HistogramCommand, 'program' | 'inner'> {
  const { extent, columns, rows, bits, parts, masks, hidden, bin } = command;
  const [size, perRow] = [columns * rows, columns / WORD];
  const storage = bits === 32 ? 'u32' : bits === 16 ? 'u16' : 'u8';
  const cells: BoundArray = {
    type: 'u32',
    binding: { buffer, storage, offset: 0, length: capacityOf(extent) * size },
  };
  const leaves: readonly ScalarType[] = ['u32', 'u32', 'u32', ...(hidden === undefined ? [] : ['u32' as const])];
  const arrays = {
    notes,
    masks: { type: 'u32', binding: masks } as const,
    ...(hidden && { hidden: { type: 'u32', binding: hidden.bits } as const }),
  };
  const { pitch: hiddenPitch = 0, bin: hiddenBin = 0 } = hidden ?? {};
  const row = assemble(
    'maskedCells',
    ['bool', ...leaves],
    { arrays, uniforms: { hiddenPitch, parts } },
    (i, { arrays, uniforms }) => {
      const { notes, masks, hidden: bits } = arrays as unknown as { [name: string]: { at(index: U32): U32 } };
      const part = Let(i.div((rows * columns) / WORD));
      const line = Let(i.sub(part.mul((rows * columns) / WORD)));
      const row = Let(line.div(perRow));
      const step = Let(line.sub(row.mul(perRow)));
      const field = (k: number): U32 => notes!.at(uniforms.parts!.mul(k).add(part));
      const owner = Let(field(0));
      const mask = Let(
        masks!.at(
          field(2)
            .add(row.mul(field(3)))
            .add(step),
        ),
      );
      const cell = owner.sub(1).mul(size).add(line.mul(WORD));
      const hiddenWord = bits?.at(field(4).add(row.mul(uniforms.hiddenPitch!)).add(step));
      const active: Bool = owner.ne(0).and(mask.ne(0));
      return [active, field(1), cell, mask, ...(hiddenWord === undefined ? [] : [hiddenWord])];
    },
  );
  const program = assemble(
    'maskedCell',
    ['u32', 'u32'],
    { arrays: { cells }, uniforms: { hiddenBin }, programs: { bin }, parameters: ['u32', ...leaves] },
    (i, { arrays, uniforms, programs, parameters }) => {
      const [rank, histogram, cell, mask, hidden] = parameters as U32[];
      const [found] = programs.bin!([i, arrays.cells!.at(cell!.add(rank!))]) as [U32];
      const isSet = (word: U32): Bool => word.shr(rank!).and(1).eq(1);
      const slot = hidden === undefined ? found : select(found, uniforms.hiddenBin!, isSet(hidden));
      return [select(u32(NONE), slot, isSet(mask!)), histogram!];
    },
  );
  return { program, inner: { row, ranks: WORD } };
}
