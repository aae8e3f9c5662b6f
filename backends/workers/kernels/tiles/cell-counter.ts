import type { TileHistogramsCommand } from '../../../../primitives/contract/backend.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, V128 } from '../../wasm/wasm-encoder.ts';
import { type Int32, i32, load, loadVector, type Vector, v128 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local, VectorLocal } from '../../wasm/wasm-locals.ts';
import {
  block,
  brIf,
  doWhile,
  fillMemory,
  lower,
  raise,
  store,
  swap,
  when,
  whileTrue,
} from '../../wasm/wasm-statements.ts';
import { emitAdd } from '../histogram/tally.ts';
import { releaseAll } from '../shared/monoid-code.ts';
import type { PartMasks } from './part-masks.ts';
import { emitSums } from './tile-rows.ts';

/** Number of private tables that cells count in by turns. A counter just stored takes some cycles to be loaded again. */
const TURNS = 4;

/** Number of histograms for which a thread has private tables: tiles on an edge of zones have parts of two. */
const SLOTS = 2;

/** Private counters are cleared so many at a time, when they are first needed. */
const CLEARED = 256;

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
  return SLOTS * TURNS * turnBytes(form);
}

export interface CounterInputs {
  /** Address of the histograms, their number of bins, and whether several threads count in them. */
  readonly address: Int32;
  readonly bins: Int32;
  readonly shared: boolean;
  /** Address of {@link counterBytes} bytes of private memory. */
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
 * tables, which have a counter for each value from `base` on; values of 8 or 16 bits go round. There are tables for the
 * two histograms that were counted last. When another histogram follows, each value found for the older one is binned
 * once, and what was counted is added to the bins. Parts with few cells among many values, and tiles with values beyond
 * the tables, are binned cell by cell.
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
  // Of the two histograms with private tables, the one that is being counted, and the other: its number and address, the
  // bytes from `own` to its tables, the value of their first counter, and which counters may be other than 0.
  const states = [0, 1].map((slot) => {
    const state = { histogram: local(), home: local(), slot: local(), window: local(), low: local(), high: local() };
    state.histogram.set(-1);
    state.slot.set(slot * TURNS * stride);
    state.low.set(counters);
    state.high.set(0);
    return state;
  });
  const [current, other] = states as [(typeof states)[0], (typeof states)[0]];
  const { home, slot, window, low, high } = current;
  // The counters that have been cleared, of all tables.
  const [clearFrom, clearTo] = [local(), local()];
  // The value of the first counter for the cells of the tile, and the counters of its smallest and largest cells.
  const [base, least, most] = [local(), local(), local()];
  const [at, cell, word, end, value] = [local(), local(), local(), local(), local()];
  const same = (lanes: number): Vector => v128([lanes, lanes, lanes, lanes]);
  const zero = same(0);
  for (const each of [base, clearFrom, clearTo]) each.set(0);

  const addTo = (bin: Int32Local, number: Int32): void =>
    when(code, bin.ltU(bins), () => emitAdd(code, shared, home.add(bin.shl(2)), number));

  /** Bins the value with a counter at `address`, and adds `number` to the bin. */
  const addValue = (address: Int32, tables: Int32, first: Int32, number: Int32): void => {
    const place = local();
    place.set(address.sub(tables));
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
      const [lanes, sum, tables] = [local(), vector(), local()];
      tables.set(own.add(slot));
      at.set(tables.add(low.and(-4).shl(2)));
      end.set(tables.add(high.shl(2)));
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
                addValue(word, tables, window, load(word));
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
      releaseAll(code, [lanes, sum, tables]);
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

  const countPrivately = (counter: Int32, table: number): void =>
    store(code, word.tee(counter), load(word, table * stride).add(1), table * stride);

  /** Counts the cells whose words lie between `at` and `end`, in the tables from a number on. */
  const countRun = (table: number): void => {
    const whole = local();
    whole.set(
      end
        .sub(at)
        .and(-4 * TURNS)
        .add(at),
    );
    whileTrue(code, at.ltU(whole), () => {
      for (let turn = 0; turn < TURNS; turn++) countPrivately(load(at, 4 * turn), table + turn);
      at.set(at.add(4 * TURNS));
    });
    block(code, (done) => {
      for (let turn = 0; turn < TURNS - 1; turn++) {
        brIf(code, done, at.add(4 * turn).geU(end));
        countPrivately(load(at, 4 * turn), table + turn);
      }
    });
    code.release(whole);
  };

  const countWords = (masks: Pick<PartMasks, 'first' | 'end'>, table: number): void =>
    forWords(masks, (mask) =>
      when(
        code,
        mask.eq(-1),
        () => {
          for (let k = 0; k < 32; k++) countPrivately(load(cell, 4 * k), table + (k % TURNS));
        },
        () => forRuns(mask, () => countRun(table)),
      ),
    );

  /** Clears the counters that the tile needs, as far as they have not been cleared. */
  const clear = (): void => {
    const [from, to] = [local(), local()];
    when(code, most.ltU(counters).and(least.ltU(clearFrom).or(most.geU(clearTo))), () => {
      from.set(least.and(-CLEARED));
      to.set(most.or(CLEARED - 1).add(1));
      when(code, clearTo.isZero(), () => {
        clearFrom.set(from);
        clearTo.set(from);
      });
      lower(code, from, clearFrom);
      raise(code, to, clearTo);
      for (let table = 0; table < SLOTS * TURNS; table++) {
        const start = own.add(table * stride);
        fillMemory(code, start.add(from.shl(2)), 0, clearFrom.sub(from).shl(2));
        fillMemory(code, start.add(clearTo.shl(2)), 0, to.sub(clearTo).shl(2));
      }
      clearFrom.set(from);
      clearTo.set(to);
    });
    releaseAll(code, [from, to]);
  };

  /** Makes the other histogram the one that is being counted. */
  const swapStates = (): void => {
    for (const name of Object.keys(current) as (keyof typeof current)[]) swap(code, current[name], other[name]);
  };

  const binRun = (): void =>
    whileTrue(code, at.ltU(end), () => {
      addValue(load(at), own, base, i32(1));
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
      const [smallest, largest, firsts] = [vector(), vector(), vector()];
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
      releaseAll(code, [smallest, largest, firsts]);
      clear();
    },
    count(histogram, masks) {
      when(code, histogram.ne(current.histogram), swapStates);
      when(code, histogram.ne(current.histogram).or(window.ne(base)), () => {
        flush();
        current.histogram.set(histogram);
        home.set(address.add(histogram.mul(bins).shl(2)));
        window.set(base);
      });
      when(
        code,
        most.ltU(counters).and(masks.cells.mul(SPAN_PER_CELL).geU(most.sub(least))),
        () => {
          lower(code, low, least);
          raise(code, high, most);
          when(
            code,
            slot,
            () => countWords(masks, TURNS),
            () => countWords(masks, 0),
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
    end() {
      const left = local();
      left.set(SLOTS);
      doWhile(
        code,
        () => {
          flush();
          swapStates();
        },
        left.tee(left.sub(1)),
      );
      code.release(left);
    },
  };
}
