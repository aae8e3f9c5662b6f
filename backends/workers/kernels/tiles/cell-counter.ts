import type { TileHistogramsCommand } from '../../../../primitives/contract/backend.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, V128 } from '../../wasm/wasm-encoder.ts';
import { type Int32, i32, load, loadVector, type Vector, v128 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local, VectorLocal } from '../../wasm/wasm-locals.ts';
import { block, brIf, doWhile, fillMemory, lower, raise, store, when, whileTrue } from '../../wasm/wasm-statements.ts';
import { emitAdd } from '../histogram/tally.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import type { PartMasks } from './part-masks.ts';
import { emitSums } from './tile-rows.ts';

/** Number of private tables that cells count in by turns. A counter just stored takes some cycles to be loaded again. */
const TURNS = 4;

/** A part is counted in private tables if its tile has at most so many different values for each cell of the part. */
const SPAN_PER_CELL = 8;

type Form = Pick<TileHistogramsCommand, 'columns' | 'rows' | 'bits'>;

/** Number of counters of a private table: one for every value of a cell, as far as it has at most 16 bits. */
function countersOf({ bits }: Form): number {
  return 2 ** Math.min(16, bits);
}

/** Bytes from a private table to the next, more than the table so that the tables do not share sets of the cache. */
function turnBytes(form: Form): number {
  return 4 * countersOf(form) + 1088;
}

/** Bytes of the private tables of a thread. */
export function counterBytes(form: Form): number {
  return TURNS * turnBytes(form);
}

export interface CounterInputs {
  /** Address of the histograms, their number of bins, and whether several threads count in them. */
  readonly address: Int32;
  readonly bins: Int32;
  readonly shared: boolean;
  /** Address of {@link counterBytes} bytes of private memory, all 0, which are 0 again after `end`. */
  readonly own: Int32;
  /** Address of the tile, a word for each cell. */
  readonly tile: Int32Local;
  /** The bin of a value. */
  readonly binOf: (value: Int32Local) => Int32Local;
}

/**
 * Emits code that counts the cells of parts of tiles.
 *
 * A tile has few different values, and so have the tiles of a zone. A thread therefore counts values, not bins, in private
 * tables, which have a counter for each value from `base` on; values of 8 or 16 bits go round. When another histogram
 * follows, each value found is binned once, and what was counted is added to the bins. Parts with few cells among many
 * values, and tiles with values beyond the tables, are binned cell by cell.
 */
export interface CellCounter {
  /** Emits code that takes the value from which the cells of a tile are counted, and returns that of its first cell. */
  rebase(first: Int32): Int32;
  /** Emits code that adds up the residuals of the tile, and turns its cells into addresses of private counters. */
  place(): void;
  /** Emits code that counts the cells of a mask in a histogram. */
  count(histogram: Int32, masks: Pick<PartMasks, 'first' | 'end' | 'cells'>): void;
  /** Emits code that adds a number to a bin of a histogram, if there is such a bin. */
  add(histogram: Int32, bin: Int32, number: Int32): void;
  /** Emits the code for the end of the kernel function. */
  end(): void;
}

export function cellCounter(code: Code, form: Form, inputs: CounterInputs): CellCounter {
  const { address, bins, shared, own, tile, binOf } = inputs;
  const { columns, rows, bits } = form;
  const [counters, stride] = [countersOf(form), turnBytes(form)];
  const kept = bits === 32 ? -1 : 2 ** bits - 1;
  const local = (): Int32Local => code.local(I32);
  const vector = (): VectorLocal => code.local(V128);
  // The histogram that is being counted, the value of its first counter, and which counters may be other than 0.
  const [current, home, window, low, high] = [local(), local(), local(), local(), local()];
  // The value of the first counter for the cells of the tile, and the counters of its smallest and largest cells.
  const [base, least, most] = [local(), local(), local()];
  const [at, cell, word, end, value] = [local(), local(), local(), local(), local()];
  const same = (lanes: number): Vector => v128([lanes, lanes, lanes, lanes]);
  const zero = same(0);
  current.set(-1);
  low.set(counters);
  high.set(0);
  base.set(0);

  const addTo = (bin: Int32Local, number: Int32): void =>
    when(code, bin.ltU(bins), () => emitAdd(code, shared, home.add(bin.shl(2)), number));

  /** Bins the value with a counter at `address`, and adds `number` to the bin. */
  const addValue = (address: Int32, first: Int32, number: Int32): void => {
    const place = local();
    place.set(address.sub(own));
    // An address has the two highest bits of a difference in its lowest bits.
    value.set((bits === 32 ? place.shrU(2).or(place.shl(30)) : place.shrU(2)).add(first).and(kept));
    code.release(place);
    const bin = binOf(value);
    addTo(bin, number);
    code.release(bin);
  };

  /** Adds the private counters to the current histogram, and clears them. */
  const flush = (): void =>
    when(code, low.leU(high), () => {
      const [lanes, sum] = [local(), vector()];
      at.set(own.add(low.and(-4).shl(2)));
      end.set(own.add(high.shl(2)));
      doWhile(
        code,
        () => {
          sum.set(loadVector(at));
          for (let turn = 1; turn < TURNS; turn++) sum.set(sum.add(loadVector(at, turn * stride)));
          when(code, sum.anyTrue(), () => {
            store(code, at, sum);
            for (let turn = 1; turn < TURNS; turn++) store(code, at, zero, turn * stride);
            lanes.set(sum.ne(zero).bitmask());
            doWhile(
              code,
              () => {
                word.set(at.add(lanes.ctz().shl(2)));
                addValue(word, window, load(word));
                lanes.set(lanes.and(lanes.sub(1)));
              },
              lanes,
            );
            store(code, at, zero);
          });
          at.set(at.add(16));
        },
        at.leU(end),
      );
      low.set(counters);
      high.set(0);
      releaseAll(code, [lanes, sum]);
    });

  const forWords = ({ first, end }: Pick<PartMasks, 'first' | 'end'>, body: (mask: Int32Local) => void): void => {
    const [at, mask] = [local(), local()];
    at.set(first);
    cell.set(tile);
    doWhile(
      code,
      () => {
        mask.set(load(at));
        when(code, mask, () => body(mask));
        cell.set(cell.add(128));
      },
      at.tee(at.add(4)).ltU(end),
    );
    releaseAll(code, [at, mask]);
  };

  /** Runs `body` with `at` and `end` around the words of each run of cells. */
  const forRuns = (mask: Int32Local, body: () => void): void =>
    whileTrue(code, mask, () => {
      at.set(cell.add(mask.ctz().shl(2)));
      // Adding the lowest set bit clears the lowest run, and sets the bit after it.
      word.set(mask.add(mask.and(i32(0).sub(mask))));
      end.set(cell.add(word.ctz().shl(2)));
      mask.set(mask.and(word));
      body();
    });

  const countPrivately = (counter: Int32, turn: number): void =>
    store(code, word.tee(counter), load(word, turn * stride).add(1), turn * stride);

  /** Counts the cells whose words lie between `at` and `end`. */
  const countRun = (): void => {
    const whole = local();
    whole.set(
      end
        .sub(at)
        .and(-4 * TURNS)
        .add(at),
    );
    whileTrue(code, at.ltU(whole), () => {
      for (let turn = 0; turn < TURNS; turn++) countPrivately(load(at, 4 * turn), turn);
      at.set(at.add(4 * TURNS));
    });
    block(code, (done) => {
      for (let turn = 0; turn < TURNS - 1; turn++) {
        brIf(code, done, at.add(4 * turn).geU(end));
        countPrivately(load(at, 4 * turn), turn);
      }
    });
    code.release(whole);
  };

  const binRun = (): void =>
    whileTrue(code, at.ltU(end), () => {
      addValue(load(at), base, i32(1));
      at.set(at.add(4));
    });

  const fold = (into: Int32Local, lanes: VectorLocal, by: typeof lower): void => {
    into.set(lanes.extract(0));
    for (const lane of [1, 2, 3]) by(code, into, lanes.extract(lane));
  };

  return {
    rebase(first) {
      // The first cell of the tile shall be far from both ends of the tables.
      when(
        code,
        first
          .sub(base)
          .sub(counters / 4)
          .and(kept)
          .geU(counters / 2),
        () => base.set(first.sub(counters / 2)),
      );
      return first.sub(base);
    },
    place() {
      const [smallest, largest, cells, firsts] = [vector(), vector(), vector(), vector()];
      smallest.set(same(-1));
      largest.set(zero);
      firsts.set(own.splat());
      fillMemory(code, tile.sub(4 * columns), 0, 4 * columns);
      emitSums(code, tile, columns, rows, (sums) => {
        if (bits < 32) sums.set(sums.and(same(kept)));
        smallest.set(smallest.minU(sums));
        largest.set(largest.maxU(sums));
        return (bits < 32 ? sums.shl(2) : sums.shl(2).or(sums.shrU(30))).add(firsts);
      });
      fold(least, smallest, lower);
      fold(most, largest, raise);
      releaseAll(code, [smallest, largest, cells, firsts]);
    },
    count(histogram, masks) {
      when(code, histogram.ne(current).or(window.ne(base)), () => {
        flush();
        current.set(histogram);
        home.set(address.add(current.mul(bins).shl(2)));
        window.set(base);
      });
      when(
        code,
        most.ltU(counters).and(masks.cells.mul(SPAN_PER_CELL).geU(most.sub(least))),
        () => {
          lower(code, low, least);
          raise(code, high, most);
          forWords(masks, (mask) =>
            when(
              code,
              mask.eq(-1),
              () => {
                for (let k = 0; k < 32; k++) countPrivately(load(cell, 4 * k), k % TURNS);
              },
              () => forRuns(mask, countRun),
            ),
          );
        },
        () => forWords(masks, (mask) => forRuns(mask, binRun)),
      );
    },
    add(histogram, bin, number) {
      when(code, number.ne(0).and(bin.ltU(bins)), () =>
        emitAdd(code, shared, address.add(histogram.mul(bins).add(bin).shl(2)), number),
      );
    },
    end: flush,
  };
}
