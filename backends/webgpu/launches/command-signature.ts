import type {
  Boundary,
  Cell,
  CrossReduceCommand,
  DecodeTilesCommand,
  DeviceBuffer,
  HistogramCommand,
  Length,
  MonoidProgram,
  Program,
  RelaxCommand,
  ScanCommand,
  ScanForm,
  SortCommand,
  Storage,
  Store,
  TileHistogramsCommand,
  WalkCommand,
  WeightedHistogramCommand,
} from '../../../primitives/contract/backend.ts';
import { capacityOf } from '../../../primitives/contract/backend.ts';
import { wordOfValue } from '../../../primitives/ir/evaluate.ts';
import { entryOf, moduleNumber, type ScalarType } from '../../../primitives/ir/ir.ts';
import { NumberList } from '../../../primitives/structures.ts';
import type { Memory, MemoryPool } from '../memory/memory.ts';

/**
 * The signature of a command: a list of numbers that determines its launches. The list contains the module numbers, the
 * lengths, offsets and capacities, and the lengths of the buffers. It also contains a number for each buffer, which
 * shows which arrays share a buffer. The buffers themselves and the values of uniforms are not in the list but are
 * collected in `memories` and `uniforms`.
 */
export class CommandSignature {
  readonly list: NumberList = new NumberList();
  /** The different buffers of the command, in the order of their first use. */
  readonly memories: Memory[] = [];
  /** The values of uniforms, program by program, in the order in which the modules declare them. */
  readonly uniforms: (number | boolean)[] = [];
  readonly #pool: Pick<MemoryPool, 'resolve'>;

  constructor(pool: Pick<MemoryPool, 'resolve'>) {
    this.#pool = pool;
  }

  clear(): void {
    this.list.clear();
    this.memories.length = 0;
    this.uniforms.length = 0;
  }

  number(value: number | undefined): void {
    this.list.push(value ?? -1);
  }

  length(length: Length): void {
    if (typeof length === 'number') {
      this.list.push(-1);
      this.list.push(length);
      return;
    }
    this.buffer(length.buffer);
    this.list.push(length.word);
    this.list.push(length.minus);
    this.list.push(length.limit);
  }

  cell(cell: Cell | undefined): void {
    if (cell === undefined) this.list.push(-1);
    else {
      this.buffer(cell.buffer);
      this.list.push(cell.word);
    }
  }

  program({ module, arrays, uniforms }: Program): void {
    const { list } = this;
    list.push(moduleNumber(module));
    for (const name of module.arrays.keys()) {
      const { buffer, storage, offset, length } = arrays.get(name)!;
      this.buffer(buffer);
      list.push(STORAGES[storage]);
      list.push(offset);
      this.length(length);
    }
    for (const name of module.uniforms.keys()) this.uniforms.push(uniforms.get(name)!);
  }

  monoid({ module, identity, exact, commutative }: MonoidProgram): void {
    const { list } = this;
    list.push(moduleNumber(module));
    for (const value of identity) list.push(Number(value));
    list.push(Number(exact) + 2 * Number(commutative));
  }

  form(form: ScanForm | undefined): void {
    const { list } = this;
    list.push(form === undefined ? -1 : FORMS.indexOf(form.kind));
    if (form?.kind === 'runs') this.monoid(form.inner);
    if (form?.kind !== 'compact') return;
    list.push(form.selected);
    list.push(form.rejected ?? -1);
  }

  stores(stores: readonly Store[]): void {
    const { list } = this;
    list.push(stores.length);
    for (const { buffer, offset, capacity, value, index, guard, combine } of stores) {
      this.buffer(buffer);
      list.push(offset);
      list.push(capacity);
      list.push(value);
      list.push(index ?? -1);
      list.push(guard ?? -1);
      list.push(combine === undefined ? -1 : COMBINATIONS.indexOf(combine));
    }
  }

  buffer(buffer: DeviceBuffer): void {
    const { list, memories } = this;
    const memory = this.#pool.resolve(buffer);
    const known = memories.indexOf(memory);
    list.push(known < 0 ? memories.length : known);
    if (known >= 0) return;
    memories.push(memory);
    list.push(memory.words);
    list.push(memory.parts.length);
    for (const { bytes } of memory.parts) list.push(bytes);
  }
}

const STORAGES: Readonly<Record<Storage, number>> = { u32: 0, i32: 1, f32: 2, u8: 3, i8: 4, u16: 5, i16: 6 };
const TYPES: readonly ScalarType[] = ['u32', 'i32', 'f32', 'bool'];
const BOUNDARIES: readonly Boundary[] = ['clamp', 'wrap', 'reflect', 'constant'];
const FORMS: readonly ScanForm['kind'][] = ['compact', 'runs'];
const COMBINATIONS: readonly Store['combine'][] = ['add', 'and', 'or', 'xor', 'min', 'max'];

/** For each kind of command, a function that appends its data to a signature. */
export const signatures = {
  forEach(to: CommandSignature, extent: Length, program: Program, stores: readonly Store[]): void {
    to.number(0);
    to.length(extent);
    to.program(program);
    to.stores(stores);
  },
  walk(to: CommandSignature, { extent, start, step, steps, changing, stores }: WalkCommand): void {
    to.number(1);
    to.length(extent);
    to.program(start);
    to.program(step);
    to.number(steps);
    to.number(changing);
    to.stores(stores);
  },
  reduce(to: CommandSignature, extent: Length, program: Program, monoid: MonoidProgram, into: Cell): void {
    to.number(2);
    to.length(extent);
    to.program(program);
    to.monoid(monoid);
    to.cell(into);
  },
  scan(to: CommandSignature, { extent, program, monoid, emit, stores, total, form }: ScanCommand): void {
    to.number(3);
    to.length(extent);
    to.program(program);
    to.monoid(monoid);
    to.program(emit);
    to.stores(stores);
    to.cell(total);
    to.form(form);
  },
  sort(to: CommandSignature, { extent, program, beginBit, endBit, keys, payload }: SortCommand): void {
    to.number(4);
    to.length(extent);
    to.program(program);
    to.number(beginBit);
    to.number(endBit);
    to.cell(keys);
    to.cell(payload);
  },
  histogram(to: CommandSignature, command: HistogramCommand): void {
    const { extent, program, bins, segment, histograms, inner, into } = command;
    to.number(5);
    to.length(extent);
    to.program(program);
    to.number(bins);
    to.number(segment);
    to.number(histograms);
    to.cell(into);
    to.number(inner?.ranks);
    if (inner !== undefined) to.program(inner.row);
  },
  weightedHistogram(to: CommandSignature, { extent, program, bins, into }: WeightedHistogramCommand): void {
    to.number(8);
    to.length(extent);
    to.program(program);
    to.number(bins);
    to.cell(into);
  },
  relax(to: CommandSignature, command: RelaxCommand): void {
    const { extent, cells, grids, own, step, until, state, change, neighbours, boundary, outside, rounds } = command;
    to.number(6);
    to.length(extent);
    to.length(cells);
    for (const program of [grids, own, step, until]) to.program(program);
    to.monoid(change);
    to.stores(state.map(({ buffer, offset }, value) => ({ buffer, offset, capacity: 0, value })));
    to.stores([{ ...rounds, value: 0 }]);
    to.number(neighbours.length);
    for (const { dx, dy } of neighbours) {
      to.number(dx);
      to.number(dy);
    }
    to.number(BOUNDARIES.indexOf(boundary.x));
    to.number(BOUNDARIES.indexOf(boundary.y));
    for (const [k, { type }] of state.entries()) {
      to.number(TYPES.indexOf(type));
      to.number(wordOfValue(type, outside[k]!));
    }
    to.number(command.maxRounds);
    to.number(command.maxWidth);
    to.number(command.maxHeight);
  },
  crossReduce(to: CommandSignature, command: CrossReduceCommand): void {
    const { extent, others, left, right, start, step, leftOwn, rightOwn, value, monoid, results } = command;
    to.number(7);
    to.length(extent);
    to.length(others);
    for (const program of [step, leftOwn, rightOwn, value]) to.program(program);
    to.monoid(monoid);
    for (const side of [left, right]) {
      to.stores(side.map(({ array: { buffer, offset } }, value) => ({ buffer, offset, capacity: 0, value })));
      for (const { type } of side) to.number(TYPES.indexOf(type));
    }
    to.stores(results.map((result, value) => ({ ...result, value })));
    const types = entryOf(step.module).results;
    for (const [k, leaf] of start.entries()) to.number(wordOfValue(types[k]!, leaf));
    to.number(command.run);
    to.number(command.dimensions);
  },
  decodeTiles(to: CommandSignature, { extent, tile, words, columns, rows, bits, into }: DecodeTilesCommand): void {
    to.number(9);
    to.length(extent);
    to.program(tile);
    to.stores([{ buffer: words.buffer, offset: words.offset, capacity: capacityOf(words.length), value: 0 }]);
    for (const each of [columns, rows, bits]) to.number(each);
    to.cell(into);
  },
  tileHistograms(to: CommandSignature, command: TileHistogramsCommand): void {
    const { extent, tile, part, parts, bin, words, masks, hidden, into } = command;
    to.number(10);
    to.length(extent);
    for (const program of [tile, part, bin]) to.program(program);
    const arrays = [words, masks, ...(hidden === undefined ? [] : [hidden.bits])];
    to.stores(
      arrays.map(({ buffer, offset, length }, value) => ({ buffer, offset, capacity: capacityOf(length), value })),
    );
    const { columns, rows, bits, bins, histograms } = command;
    for (const each of [columns, rows, bits, bins, histograms, parts]) to.number(each);
    for (const each of [hidden?.pitch ?? 0, hidden?.bin ?? 0]) to.number(each);
    to.cell(into);
  },
};
