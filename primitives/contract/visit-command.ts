import type {
  ArrayBinding,
  CommandOf,
  DeviceBuffer,
  KernelCommand,
  KernelKind,
  Length,
  MonoidProgram,
  Program,
  ScanForm,
} from './kernel-commands.ts';

/** Where a command writes: a cell, a store, or an array that it updates in place. */
export interface Target {
  readonly buffer: DeviceBuffer;
}

/** What a field of a command is: one of these, a list (`[part]`) or a record of them. It may be absent. */
export type Part =
  | 'extent'
  | 'program'
  | 'array'
  | 'target'
  | 'monoid'
  | 'form'
  | 'value'
  | readonly [Part]
  | { readonly [field: string]: Part };

/** The part that a field of type `V` is. */
type PartOf<V> = [Length] extends [V]
  ? 'extent'
  : V extends Program
    ? 'program'
    : V extends ArrayBinding
      ? 'array'
      : V extends Target
        ? 'target'
        : V extends MonoidProgram
          ? 'monoid'
          : [V] extends [ScanForm]
            ? 'form'
            : V extends readonly (infer E)[]
              ? PartOf<E> extends 'value'
                ? 'value'
                : readonly [PartOf<E>]
              : [Extract<V[keyof V], Program | Target>] extends [never]
                ? 'value'
                : PartsOf<V>;

type PartsOf<C> = { readonly [F in Exclude<keyof C, 'kind'>]-?: PartOf<NonNullable<C[F]>> };

const decoding = {
  extent: 'extent',
  tile: 'program',
  words: 'array',
  columns: 'value',
  rows: 'value',
  bits: 'value',
} as const;

const sortedRows = { length: 'extent', keys: 'program', row: 'program', isOfKeys: 'value' } as const;

/**
 * The parts of every command: the one list of what commands read, write and run. A program must not read what its
 * command writes, except that `relax` updates its `state`, `unite` its `links` and `strips` what it owns.
 */
export const COMMAND_PARTS: { readonly [K in KernelKind]: PartsOf<CommandOf<K>> } = {
  forEach: { extent: 'extent', program: 'program', across: 'value', stores: ['target'] },
  walk: {
    extent: 'extent',
    start: 'program',
    step: 'program',
    steps: 'value',
    changing: 'value',
    sideBySide: 'value',
    stores: ['target'],
  },
  strips: { extent: 'extent', rows: 'value', program: 'program', owned: ['target'] },
  reduce: { extent: 'extent', program: 'program', monoid: 'monoid', into: 'target' },
  scan: {
    extent: 'extent',
    program: 'program',
    monoid: 'monoid',
    emit: 'program',
    stores: ['target'],
    total: 'target',
    form: 'form',
  },
  sort: { extent: 'extent', program: 'program', beginBit: 'value', endBit: 'value', keys: 'target', payload: 'target' },
  histogram: {
    extent: 'extent',
    program: 'program',
    bins: 'value',
    segment: 'value',
    histograms: 'value',
    inner: { row: 'program', ranks: 'value' },
    into: 'target',
  },
  weightedHistogram: { extent: 'extent', program: 'program', bins: 'value', into: 'target' },
  relax: {
    extent: 'extent',
    grids: 'program',
    cells: 'extent',
    state: ['target'],
    own: 'program',
    step: 'program',
    neighbours: 'value',
    boundary: 'value',
    outside: 'value',
    change: 'monoid',
    until: 'program',
    maxRounds: 'value',
    maxWidth: 'value',
    maxHeight: 'value',
    rounds: 'target',
  },
  crossReduce: {
    extent: 'extent',
    others: 'extent',
    run: 'value',
    dimensions: 'value',
    left: [{ type: 'value', array: 'array' }],
    right: [{ type: 'value', array: 'array' }],
    start: 'value',
    step: 'program',
    leftOwn: 'program',
    rightOwn: 'program',
    value: 'program',
    monoid: 'monoid',
    results: ['target'],
  },
  decodeTiles: { ...decoding, into: 'target' },
  scanLines: {
    extent: 'extent',
    rows: 'value',
    columns: 'value',
    axis: 'value',
    program: 'program',
    monoid: 'monoid',
    inclusive: 'value',
    stores: ['target'],
  },
  tileHistograms: {
    ...decoding,
    part: 'program',
    parts: 'value',
    masks: 'array',
    bin: 'program',
    bins: 'value',
    histograms: 'value',
    hidden: { bits: 'array', pitch: 'value', bin: 'value' },
    into: 'target',
  },
  unite: { extent: 'extent', program: 'program', nodes: 'extent', links: 'target' },
  merge: {
    extent: 'extent',
    first: sortedRows,
    second: sortedRows,
    keeps: 'value',
    stores: ['target'],
    total: 'target',
  },
};

/** What replaces the parts of a command. A visitor that only looks at them returns them. */
export interface CommandVisitor {
  extent(length: Length): Length;
  program(program: Program): Program;
  array(array: ArrayBinding): ArrayBinding;
  target<T extends Target>(target: T): T;
}

/** A copy of a command in which a visitor has replaced every part. */
export function visitCommand<C extends KernelCommand>(command: C, visitor: CommandVisitor): C {
  return withParts(command, COMMAND_PARTS[command.kind], visitor);
}

function withParts<R extends object>(record: R, parts: { readonly [field: string]: Part }, visitor: CommandVisitor): R {
  const copy = { ...record } as { [field: string]: unknown };
  for (const field in parts) {
    const given = copy[field];
    if (given !== undefined) copy[field] = replaced(given, parts[field]!, visitor);
  }
  return copy as R;
}

function replaced(given: unknown, part: Part, visitor: CommandVisitor): unknown {
  switch (part) {
    case 'extent':
      return visitor.extent(given as Length);
    case 'program':
      return visitor.program(given as Program);
    case 'array':
      return visitor.array(given as ArrayBinding);
    case 'target':
      return visitor.target(given as Target);
    case 'monoid':
    case 'form':
    case 'value':
      return given;
    default:
      if (!isList(part)) return withParts(given as object, part, visitor);
      return (given as readonly unknown[]).map((each) => replaced(each, part[0], visitor));
  }
}

/** Whether a part is a list of parts. */
export function isList(part: Part): part is readonly [Part] {
  return Array.isArray(part);
}

/** A copy of a command with other programs. */
export function mapPrograms<C extends KernelCommand>(command: C, program: CommandVisitor['program']): C {
  const same = <T>(part: T): T => part;
  return visitCommand(command, { extent: same, program, array: same, target: same });
}

/** The buffers of a command. */
export interface CommandBuffers {
  /**
   * Without those that `relax` and `unite` update in place, which are among the writes. Those that `strips` updates are
   * among both.
   */
  readonly reads: readonly DeviceBuffer[];
  readonly writes: readonly DeviceBuffer[];
}

/** The buffers that a command reads and those that it writes. A buffer may be listed several times. */
export function buffersOf(command: KernelCommand): CommandBuffers {
  const [reads, writes]: [DeviceBuffer[], DeviceBuffer[]] = [[], []];
  const extent = (length: Length): Length => {
    if (typeof length !== 'number') reads.push(length.buffer);
    return length;
  };
  const array = (binding: ArrayBinding): ArrayBinding => {
    reads.push(binding.buffer);
    extent(binding.length);
    return binding;
  };
  visitCommand(command, {
    extent,
    array,
    program(program) {
      for (const binding of program.arrays.values()) array(binding);
      return program;
    },
    target(target) {
      writes.push(target.buffer);
      return target;
    },
  });
  return { reads, writes };
}
