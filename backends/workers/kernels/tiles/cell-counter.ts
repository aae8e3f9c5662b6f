import type { TileHistogramsCommand } from '../../../../primitives/contract/backend.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { I32, V128 } from '../../wasm/wasm-encoder.ts';
import { type Int32, i32, load, loadVector, type Vector, v128 } from '../../wasm/wasm-expressions.ts';
import type { Int32Local, VectorLocal } from '../../wasm/wasm-locals.ts';
import { doWhile, lower, raise, store, when, whileTrue } from '../../wasm/wasm-statements.ts';
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
  /** The bin of a cell. */
  readonly binOf: (cell: Int32Local) => Int32Local;
}

/**
 * Emits code that counts the cells of parts of tiles.
 *
 * A tile has few different values, and so have the tiles of a zone. A thread therefore counts values, not bins, in private
 * tables: a window of values from `base` on, which slides only when a tile does not fit in it. When another histogram
 * follows, each value found is binned once, and what was counted is added to the bins. Parts with few cells among many
 * values, and tiles whose values do not fit in a window, are binned cell by cell.
 */
export interface CellCounter {
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
  const sign = -(2 ** 31) >> (32 - bits);
  const local = (): Int32Local => code.local(I32);
  // The histogram that is being counted, the window of its private counters, and which of them may be other than 0.
  const [current, home, window, low, high] = [local(), local(), local(), local(), local()];
  // The window of the tile, the range of its values in the window, and how its words become values.
  const [base, span, first, isPlaced] = [local(), local(), local(), local()];
  const [from, shift, offset] = [local(), local(), local()];
  const [at, cell, word, end, value] = [local(), local(), local(), local(), local()];
  const same = (lanes: number): Vector => v128([lanes, lanes, lanes, lanes]);
  const masked = (cells: Vector): Vector => (bits === 32 ? cells : cells.and(same(kept)));
  const zero = same(0);
  current.set(-1);
  low.set(counters);
  high.set(0);
  base.set(0);

  const addTo = (bin: Int32Local, number: Int32): void =>
    when(code, bin.ltU(bins), () => emitAdd(code, shared, home.add(bin.shl(2)), number));

  /** Adds the private counters to the current histogram, and clears them. */
  const flush = (): void =>
    when(code, low.leU(high), () => {
      const [lanes, number] = [local(), local()];
      const sum = code.local(V128);
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
                value.set(word.sub(own).shrU(2).add(window).and(kept));
                number.set(load(word));
                const bin = binOf(value);
                addTo(bin, number);
                code.release(bin);
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
      releaseAll(code, [lanes, number, sum]);
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

  const forBits = (mask: Int32Local, body: (word: Int32) => void): void =>
    whileTrue(code, mask, () => {
      body(load(cell.add(mask.ctz().shl(2))));
      mask.set(mask.and(mask.sub(1)));
    });

  const countPrivately = (counter: Int32, turn: number): void =>
    store(code, word.tee(counter), load(word, turn * stride).add(1), turn * stride);

  const smallest = (cells: VectorLocal): Int32 => reduced(cells, lower);
  const largest = (cells: VectorLocal): Int32 => reduced(cells, raise);
  const reduced = (cells: VectorLocal, fold: typeof lower): Int32 => {
    word.set(cells.extract(0));
    for (const lane of [1, 2, 3]) fold(code, word, cells.extract(lane));
    return word;
  };

  /** Sets `first` to the smallest value of the tile, and `span` to the distance of the largest, signed or unsigned. */
  const addUp = (): void => {
    const vector = (): VectorLocal => code.local(V128);
    const [least, most, signedLeast, signedMost, cells] = [vector(), vector(), vector(), vector(), vector()];
    for (const each of [least, signedLeast]) each.set(same(-1));
    for (const each of [most, signedMost]) each.set(zero);
    emitSums(code, tile, columns, rows, (sums) => {
      cells.set(masked(sums));
      least.set(least.minU(cells));
      most.set(most.maxU(cells));
      cells.set(masked(cells.xor(same(sign))));
      signedLeast.set(signedLeast.minU(cells));
      signedMost.set(signedMost.maxU(cells));
    });
    const other = local();
    first.set(smallest(least));
    span.set(largest(most).sub(first));
    other.set(smallest(signedLeast));
    at.set(largest(signedMost).sub(other));
    when(code, at.ltU(span), () => {
      span.set(at);
      first.set(other.xor(sign).and(kept));
    });
    releaseAll(code, [least, most, signedLeast, signedMost, cells, other]);
  };

  /** Turns the cells of the tile into addresses of private counters. */
  const toAddresses = (): void => {
    const [bases, firsts] = [code.local(V128), code.local(V128)];
    bases.set(base.splat());
    firsts.set(own.splat());
    at.set(tile);
    end.set(tile.add(4 * columns * rows));
    doWhile(
      code,
      () => {
        for (let k = 0; k < 8; k++) {
          store(
            code,
            at,
            masked(loadVector(at, 16 * k).sub(bases))
              .shl(2)
              .add(firsts),
            16 * k,
          );
        }
      },
      at.tee(at.add(128)).ltU(end),
    );
    releaseAll(code, [bases, firsts]);
  };

  return {
    place() {
      addUp();
      isPlaced.set(span.ltU(counters));
      for (const each of [from, shift, offset]) each.set(0);
      when(code, isPlaced, () => {
        at.set(first.sub(base).and(kept));
        const fits = at.ltU(counters).and(at.add(span).ltU(counters));
        when(code, fits.isZero(), () => {
          base.set(
            first.sub(
              i32(counters - 1)
                .sub(span)
                .shrU(1),
            ),
          );
          at.set(first.sub(base).and(kept));
        });
        first.set(at);
        toAddresses();
        from.set(own);
        shift.set(2);
        offset.set(base);
      });
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
        isPlaced.and(masks.cells.mul(SPAN_PER_CELL).geU(span)),
        () => {
          lower(code, low, first);
          raise(code, high, first.add(span));
          forWords(masks, (mask) =>
            when(
              code,
              mask.eq(-1),
              () => {
                for (let k = 0; k < 32; k++) countPrivately(load(cell, 4 * k), k % TURNS);
              },
              () => forBits(mask, (counter) => countPrivately(counter, 0)),
            ),
          );
        },
        () =>
          forWords(masks, (mask) =>
            forBits(mask, (word) => {
              value.set(word.sub(from).shrU(shift).add(offset).and(kept));
              const bin = binOf(value);
              addTo(bin, i32(1));
              code.release(bin);
            }),
          ),
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
