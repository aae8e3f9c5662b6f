import type {
  ArrayBinding,
  Backend,
  Cell,
  DeviceBuffer,
  Extent,
  HistogramCommand,
  Length,
  MonoidProgram,
  Program,
  ScanCommand,
  SortCommand,
  Store,
  WalkCommand,
} from '../../primitives/backend.ts';

/** A kernel's call as data, so that it can be made again on another backend. */
export type Command =
  | { readonly kind: 'forEach'; readonly extent: Extent; readonly program: Program; readonly stores: readonly Store[] }
  | {
      readonly kind: 'reduce';
      readonly extent: Extent;
      readonly program: Program;
      readonly monoid: MonoidProgram;
      readonly into: Cell;
    }
  | { readonly kind: 'walk'; readonly command: WalkCommand }
  | { readonly kind: 'scan'; readonly command: ScanCommand }
  | { readonly kind: 'sort'; readonly command: SortCommand }
  | { readonly kind: 'histogram'; readonly command: HistogramCommand };

/** Finds the buffer that stands for another: one that a command reads, or one that it writes. */
export interface Lookup {
  reading(buffer: DeviceBuffer): DeviceBuffer;
  writing(buffer: DeviceBuffer): DeviceBuffer;
}

/** The command with the buffers that a lookup finds. */
export function rebound(given: Command, at: Lookup): Command {
  switch (given.kind) {
    case 'forEach': {
      const { kind, extent, program, stores } = given;
      return { kind, extent: lengthAt(extent, at), program: programAt(program, at), stores: storesAt(stores, at) };
    }
    case 'reduce': {
      const { kind, extent, program, monoid, into } = given;
      return { kind, extent: lengthAt(extent, at), program: programAt(program, at), monoid, into: cellAt(into, at) };
    }
    case 'walk': {
      const { extent, start, step, stores } = given.command;
      const programs = { start: programAt(start, at), step: programAt(step, at) };
      const into = { stores: storesAt(stores, at) };
      return { ...given, command: { ...given.command, extent: lengthAt(extent, at), ...programs, ...into } };
    }
    case 'scan': {
      const { extent, program, emit, stores, total } = given.command;
      const programs = { program: programAt(program, at), emit: programAt(emit, at) };
      const into = { stores: storesAt(stores, at), total: total && cellAt(total, at) };
      return { ...given, command: { ...given.command, extent: lengthAt(extent, at), ...programs, ...into } };
    }
    case 'sort': {
      const { extent, program, keys, payload } = given.command;
      const programs = { program: programAt(program, at) };
      const into = { keys: keys && cellAt(keys, at), payload: payload && cellAt(payload, at) };
      return { ...given, command: { ...given.command, extent: lengthAt(extent, at), ...programs, ...into } };
    }
    case 'histogram': {
      const { extent, program, inner, into: cell } = given.command;
      const programs = { program: programAt(program, at), inner: inner && { ...inner, row: programAt(inner.row, at) } };
      const into = { into: cellAt(cell, at) };
      return { ...given, command: { ...given.command, extent: lengthAt(extent, at), ...programs, ...into } };
    }
  }
}

/** Gives a command to a backend. */
export function issue(backend: Backend, given: Command): void {
  switch (given.kind) {
    case 'forEach':
      backend.forEach(given.extent, given.program, given.stores);
      break;
    case 'reduce':
      backend.reduce(given.extent, given.program, given.monoid, given.into);
      break;
    case 'walk':
      backend.walk(given.command);
      break;
    case 'scan':
      backend.scan(given.command);
      break;
    case 'sort':
      backend.sort(given.command);
      break;
    case 'histogram':
      backend.histogram(given.command);
  }
}

function lengthAt(length: Length, at: Lookup): Length {
  return typeof length === 'number' ? length : { ...length, buffer: at.reading(length.buffer) };
}

function programAt({ module, arrays, uniforms }: Program, at: Lookup): Program {
  const found = new Map<string, ArrayBinding>();
  for (const [name, binding] of arrays) {
    found.set(name, { ...binding, buffer: at.reading(binding.buffer), length: lengthAt(binding.length, at) });
  }
  return { module, arrays: found, uniforms };
}

function storesAt(stores: readonly Store[], at: Lookup): Store[] {
  return stores.map((store) => ({ ...store, buffer: at.writing(store.buffer) }));
}

function cellAt({ buffer, word }: Cell, at: Lookup): Cell {
  return { buffer: at.writing(buffer), word };
}
