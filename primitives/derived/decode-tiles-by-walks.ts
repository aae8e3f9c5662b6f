import { type Backend, type Cell, capacityOf, type DecodeTilesCommand, type Program } from '../contract/backend.ts';
import { For, Let, Var } from '../functors/control.ts';
import { bool, u32 } from '../functors/functor.ts';
import { bitsFrom } from '../functors/packed-bits.ts';
import { select } from '../functors/standard/choose.ts';
import type { Bool, U32 } from '../functors/value.ts';
import { assemble, type BoundArray, withBuffers, wordsAt } from './assembled-program.ts';

/** Number of residuals of a block, which all have the same number of bits. */
const BLOCK = 32;

/** What stands for the start of the blocks of a tile that does not end within the words. */
const OUTSIDE = 0xffffffff;

/**
 * Decodes tiles with four commands: for each tile, a loop that checks where it ends and
 * a walk over the widths of its blocks; for each column of a tile, a walk that adds up its residuals downwards; for each
 * row, a walk that adds up these sums to the right and stores the cells. Allocates memory for the starts of blocks and
 * for the sums.
 */
export function decodeTilesByWalks(backend: Backend, command: DecodeTilesCommand): void {
  const { extent, columns, rows, bits, into } = command;
  const tiles = capacityOf(extent);
  if (tiles === 0) return;
  const cells = columns * rows;
  const blocks = cells / BLOCK;
  withBuffers(backend, (take) => {
    const starts = take(tiles * blocks);
    const sums = take(tiles * cells);
    const walk = (steps: number, extent: number, walk: Walk, { buffer, word }: Cell, capacity: number): void => {
      backend.run({
        kind: 'walk',
        ...{ extent, ...walk, steps, changing: 2 },
        stores: [{ buffer, offset: word, capacity, value: 3, index: 4 }],
      });
    };
    walk(blocks, tiles, walkBlocks(command, blocks), { buffer: starts, word: 0 }, tiles * blocks);
    const down = walkDown(command, wordsAt(starts, tiles * blocks));
    walk(rows, tiles * columns, down, { buffer: sums, word: 0 }, tiles * cells);
    const right = walkRight(command, wordsAt(sums, tiles * cells));
    walk((columns * bits) / 32, tiles * rows, right, into, (tiles * cells * bits) / 32);
  });
}

/** The two programs of a walk. A step returns whether there is another, two changed leaves, a value and its index. */
interface Walk {
  readonly start: Program;
  readonly step: Program;
}

const STEP = ['bool', 'u32', 'u32', 'u32', 'u32'] as const;

function wordsOf({ words }: DecodeTilesCommand): BoundArray {
  return { type: 'u32', binding: words };
}

type Words = { at(index: U32): U32 };

/** Words that the widths of so many blocks take, if a difference has the bits that the first of these words says. */
function widthWords(head: U32, blocks: number): U32 {
  return differenceBits(head).mul(blocks).add(7).shr(3).add(5).shr(2);
}

function differenceBits(head: U32): U32 {
  return head.shr(8).and(0xff).min(6);
}

/** The width of a block of a tile whose bytes begin at the word `first`. */
function widthOf(words: Words, first: U32, block: U32): U32 {
  const head = Let(words.at(first));
  const bits = Let(differenceBits(head));
  const difference = bitsFrom(words, first, Let(bits.mul(block).add(16)));
  const mask = u32(1).shl(bits).sub(1);
  return head.and(0xff).add(difference.and(mask)).min(BLOCK);
}

/** For every tile, a walk that stores where the words of each of its blocks start. */
function walkBlocks(command: DecodeTilesCommand, blocks: number): Walk {
  const length = capacityOf(command.words.length);
  const arrays = { words: wordsOf(command) };
  const start = assemble(
    'tileBlocks',
    ['bool', 'u32', 'u32', 'u32', 'bool'],
    { arrays, programs: { tile: command.tile } },
    (t, { arrays, programs }) => {
      const begin = Let((programs.tile!([t]) as U32[])[0]!);
      const ahead = Let(widthWords((arrays.words as unknown as Words).at(begin), blocks));
      const used = Var(ahead);
      For(0, blocks, (block) => used.set(used.add(widthOf(arrays.words as never, begin, block))));
      const all = u32(length);
      const fits = begin.le(all).and((used as U32).le(all.sub(begin)));
      return [bool(true), begin.add(ahead), u32(0), begin, fits];
    },
  );
  const step = assemble(
    'tileBlock',
    STEP,
    { arrays, parameters: ['u32', 'u32', 'u32', 'bool'] },
    (t, { arrays, parameters }) => {
      const [at, block, begin, fits] = parameters as unknown as [U32, U32, U32, Bool];
      const next = at.add(widthOf(arrays.words as never, begin, block));
      const place = t.mul(blocks).add(block);
      return [block.add(1).lt(blocks), next, block.add(1), select(u32(OUTSIDE), at, fits), place];
    },
  );
  return { start, step };
}

/** For every column of a tile, a walk that adds up its residuals downwards. */
function walkDown(command: DecodeTilesCommand, starts: BoundArray): Walk {
  const { columns, rows, tile } = command;
  const [cells, blocks] = [columns * rows, (columns * rows) / BLOCK];
  const programs = { tile };
  const start = assemble('tileColumn', ['bool', 'u32', 'u32', 'u32'], { programs }, (i, { programs }) => {
    const t = Let(i.div(columns));
    const [begin, first] = programs.tile!([t]) as U32[];
    return [bool(true), u32(0), select(u32(0), first!, i.eq(t.mul(columns))), begin!];
  });
  const step = assemble(
    'tileColumnCell',
    STEP,
    { arrays: { words: wordsOf(command), starts }, parameters: ['u32', 'u32', 'u32'] },
    (i, { arrays, parameters }) => {
      const [row, sum, begin] = parameters as unknown as [U32, U32, U32];
      const { words, starts } = arrays as unknown as Record<'words' | 'starts', Words>;
      const t = Let(i.div(columns));
      const cell = Let(row.mul(columns).add(i.sub(t.mul(columns))));
      const block = Let(cell.div(BLOCK));
      const origin = Let(starts.at(t.mul(blocks).add(block)));
      const isInside = Let(origin.ne(OUTSIDE));
      const width = Let(widthOf(words, begin, block));
      const bit = Let(cell.and(BLOCK - 1).mul(width));
      const stored = Let(bitsFrom(words, origin, bit).and(u32(0xffffffff).shr(u32(32).sub(width))));
      const residual = stored.shr(1).xor(u32(0).sub(stored.and(1)));
      const next = Let(select(u32(0), sum.add(select(u32(0), residual, width.ne(0))), isInside));
      return [row.add(1).lt(rows), row.add(1), next, next, t.mul(cells).add(cell)];
    },
  );
  return { start, step };
}

/** For every row of a tile, a walk that adds up the sums of its columns to the right, and stores the cells. */
function walkRight({ columns, bits }: DecodeTilesCommand, sums: BoundArray): Walk {
  const perWord = 32 / bits;
  const start = assemble('tileRow', ['bool', 'u32', 'u32'], {}, () => [bool(true), u32(0), u32(0)]);
  const step = assemble(
    'tileRowWord',
    STEP,
    { arrays: { sums }, parameters: ['u32', 'u32'] },
    (row, { arrays, parameters }) => {
      const [at, sum] = parameters as unknown as [U32, U32];
      const cells = arrays.sums as unknown as Words;
      const first = Let(row.mul(columns).add(at.mul(perWord)));
      let [total, word] = [sum, u32(0)];
      for (let k = 0; k < perWord; k++) {
        total = Let(total.add(cells.at(first.add(k))));
        word = word.or((bits === 32 ? total : total.and(2 ** bits - 1)).shl(bits * k));
      }
      return [at.add(1).lt(columns / perWord), at.add(1), total, word, row.mul(columns / perWord).add(at)];
    },
  );
  return { start, step };
}
