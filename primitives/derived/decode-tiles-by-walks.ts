import {
  type Backend,
  type Cell,
  capacityOf,
  type DecodeTilesCommand,
  type DeviceBuffer,
  type Program,
} from '../contract/backend.ts';
import { For, Let, Var } from '../functors/control.ts';
import { bitsFrom } from '../functors/packed-bits.ts';
import { literal } from '../functors/recorder.ts';
import { select } from '../functors/standard/choose.ts';
import { type Bool, type U32, Value } from '../functors/value.ts';
import { assemble, type BoundArray, wordsAt } from './assembled-program.ts';

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
  const taken: DeviceBuffer[] = [];
  const take = (words: number): DeviceBuffer => {
    taken.push(backend.allocate(words));
    return taken.at(-1)!;
  };
  try {
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
  } finally {
    for (const buffer of taken) backend.release(buffer);
  }
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

function number(value: number): U32 {
  return new Value(literal('u32', value)) as U32;
}

function yes(): Bool {
  return new Value(literal('bool', true)) as Bool;
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
  const mask = number(1).shl(bits).sub(1);
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
      const all = number(length);
      const fits = begin.le(all).and((used as U32).le(all.sub(begin)));
      return [yes(), begin.add(ahead), number(0), begin, fits];
    },
  );
  const step = assemble(
    'tileBlock',
    STEP,
    { arrays },
    (t, { arrays, parameters }) => {
      const [at, block, begin, fits] = parameters as unknown as [U32, U32, U32, Bool];
      const next = at.add(widthOf(arrays.words as never, begin, block));
      const place = t.mul(blocks).add(block);
      return [block.add(1).lt(blocks), next, block.add(1), select(number(OUTSIDE), at, fits), place];
    },
    ['u32', 'u32', 'u32', 'bool'],
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
    return [yes(), number(0), select(number(0), first!, i.eq(t.mul(columns))), begin!];
  });
  const step = assemble(
    'tileColumnCell',
    STEP,
    { arrays: { words: wordsOf(command), starts } },
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
      const stored = Let(bitsFrom(words, origin, bit).and(number(0xffffffff).shr(number(32).sub(width))));
      const residual = stored.shr(1).xor(number(0).sub(stored.and(1)));
      const next = Let(select(number(0), sum.add(select(number(0), residual, width.ne(0))), isInside));
      return [row.add(1).lt(rows), row.add(1), next, next, t.mul(cells).add(cell)];
    },
    ['u32', 'u32', 'u32'],
  );
  return { start, step };
}

/** For every row of a tile, a walk that adds up the sums of its columns to the right, and stores the cells. */
function walkRight({ columns, bits }: DecodeTilesCommand, sums: BoundArray): Walk {
  const perWord = 32 / bits;
  const start = assemble('tileRow', ['bool', 'u32', 'u32'], {}, () => [yes(), number(0), number(0)]);
  const step = assemble(
    'tileRowWord',
    STEP,
    { arrays: { sums } },
    (row, { arrays, parameters }) => {
      const [at, sum] = parameters as unknown as [U32, U32];
      const cells = arrays.sums as unknown as Words;
      const first = Let(row.mul(columns).add(at.mul(perWord)));
      let [total, word] = [sum, number(0)];
      for (let k = 0; k < perWord; k++) {
        total = Let(total.add(cells.at(first.add(k))));
        word = word.or((bits === 32 ? total : total.and(2 ** bits - 1)).shl(bits * k));
      }
      return [at.add(1).lt(columns / perWord), at.add(1), total, word, row.mul(columns / perWord).add(at)];
    },
    ['u32', 'u32'],
  );
  return { start, step };
}
