import type {
  Backend,
  Cell,
  DeviceBuffer,
  MonoidProgram,
  Program,
  ReduceCommand,
  ScanCommand,
} from '../../primitives/contract/backend.ts';
import { literal, operate } from '../../primitives/functors/recorder.ts';
import { callPlain, variantOf, wrapModule } from '../../primitives/functors/wrap-module.ts';
import { entryOf, type Module, moduleNumber } from '../../primitives/ir/ir.ts';
import { choose, identityWords, leafArrays, leafTypes, readLeaves } from './leaves.ts';
import { planWindows, type RowWindow, type WindowMachine } from './windows.ts';

/**
 * The functions below fold and scan with exact monoids, in windows (ranges of indices). The total of all earlier
 * windows is combined into the first element of the next window.
 */

/** Folds a program's values window by window (one range of indices after the other). */
export async function reduceExact(machine: WindowMachine, command: ReduceCommand): Promise<void> {
  const { extent, program, monoid, into } = command;
  const windowing = await planWindows(machine, { extent, programs: [program], cells: [into.buffer] });
  await withCarry(machine, monoid, (carry) =>
    windowing.run((window) => {
      const [values] = window.programs() as [Program];
      const total = isLast(window, windowing.length) ? into : carry.next;
      machine.inner.run({ kind: 'reduce', extent: window.rows, program: carry.into(values), monoid, into: total });
      carry.pass();
    }),
  );
}

/** Scans a program's values window by window (one range of indices after the other). */
export async function scanExact(machine: WindowMachine, command: ScanCommand): Promise<void> {
  const { extent, program, monoid, emit, stores, total } = command;
  const cells = total === undefined ? [] : [total.buffer];
  const windowing = await planWindows(machine, { extent, programs: [program, emit], stores, cells });
  await withCarry(machine, monoid, (carry) =>
    windowing.run((window) => {
      const [values, consume] = window.programs() as [Program, Program];
      machine.inner.run({
        kind: 'scan',
        extent: window.rows,
        program: carry.into(values),
        monoid,
        emit: carry.before(consume),
        stores: window.stores,
        total: isLast(window, windowing.length) ? total : carry.next,
      });
      carry.pass();
    }),
  );
}

function isLast({ from, rows }: RowWindow, length: number): boolean {
  return from + rows >= length;
}

/** The total of all earlier windows, in device memory. */
interface Carry {
  /** Returns the program with its first element replaced by carry ⊕ element. */
  into(program: Program): Program;
  /** Returns the `emit` program of a scan, changed so that the exclusive prefix of the first element is the carry. */
  before(emit: Program): Program;
  /** The cell for the total of all windows up to and including the current window. */
  readonly next: Cell;
  /** Makes the total in `next` the carry of the next window. */
  pass(): void;
}

async function withCarry(
  { inner }: WindowMachine,
  monoid: MonoidProgram,
  body: (carry: Carry) => Promise<void>,
): Promise<void> {
  const { types, module } = monoid;
  const cells: DeviceBuffer[] = [];
  try {
    for (let i = 0; i < 2; i++) cells.push(inner.allocate(types.length));
    inner.write(cells[0]!, 0, identityWords(monoid));
    const carried = (program: Program, changed: Module): Program => {
      const carry = leafArrays('carried', { buffer: cells[0]!, types, stride: 1 }, 0, 1);
      return { ...program, module: changed, arrays: new Map([...program.arrays, ...carry]) };
    };
    await body({
      into: (program) =>
        carried(
          program,
          variantOf(program.module, `carried ${moduleNumber(module)}`, () => firstCombined(program.module, monoid)),
        ),
      before: (emit) =>
        carried(
          emit,
          variantOf(emit.module, `before ${moduleNumber(module)}`, () => firstAfterCarry(emit.module, monoid)),
        ),
      get next() {
        return { buffer: cells[1]!, word: 0 };
      },
      pass: () => void cells.reverse(),
    });
  } finally {
    for (const cell of cells) inner.release(cell);
  }
}

function firstCombined(program: Module, { module, types }: MonoidProgram): Module {
  return wrapModule(program, {
    name: entryOf(program).name,
    parameters: ['u32'],
    results: types,
    arrays: leafTypes('carried', types),
    body: ([index], entry) => {
      const values = entry([index!]);
      const carried = readLeaves('carried', types, literal('u32', 0));
      return choose(values, callPlain(module, [...carried, ...values]), operate('eq', [index!, literal('u32', 0)]));
    },
  });
}

function firstAfterCarry(emit: Module, { types }: MonoidProgram): Module {
  const { name, parameters, results } = entryOf(emit);
  return wrapModule(emit, {
    name,
    parameters: parameters.map(({ type }) => type),
    results,
    arrays: leafTypes('carried', types),
    body: ([index, ...prefixes], entry) => {
      const carried = readLeaves('carried', types, literal('u32', 0));
      const isFirst = operate('eq', [index!, literal('u32', 0)]);
      const exclusive = choose(prefixes.slice(0, types.length), carried, isFirst);
      return entry([index!, ...exclusive, ...prefixes.slice(types.length)]);
    },
  });
}

/** Allocates device buffers, runs `body` with them and releases them. */
export async function withBuffers<R>(
  inner: Backend,
  words: readonly number[],
  body: (...buffers: readonly DeviceBuffer[]) => Promise<R>,
): Promise<R> {
  const buffers: DeviceBuffer[] = [];
  try {
    for (const each of words) buffers.push(inner.allocate(Math.max(1, each)));
    return await body(...buffers);
  } finally {
    for (const buffer of buffers) inner.release(buffer);
  }
}
