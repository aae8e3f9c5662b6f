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

/** Gives a command to a backend, with the buffers that the lookup finds. */
export function issue(backend: Backend, given: Command, at: Lookup): void {
  switch (given.kind) {
    case 'forEach':
      backend.forEach(lengthAt(given.extent, at), programAt(given.program, at), storesAt(given.stores, at));
      break;
    case 'reduce': {
      const { extent, program, monoid, into } = given;
      backend.reduce(lengthAt(extent, at), programAt(program, at), monoid, cellAt(into, at));
      break;
    }
    case 'walk': {
      const { extent, start, step, stores, changing } = given.command;
      const programs = { start: programAt(start, at), step: programAt(step, at) };
      backend.walk({ extent: lengthAt(extent, at), ...programs, changing, stores: storesAt(stores, at) });
      break;
    }
    case 'scan': {
      const { extent, program, monoid, emit, stores, total } = given.command;
      const programs = { program: programAt(program, at), emit: programAt(emit, at) };
      const into = { stores: storesAt(stores, at), total: total && cellAt(total, at) };
      backend.scan({ extent: lengthAt(extent, at), monoid, ...programs, ...into });
      break;
    }
    case 'sort': {
      const { extent, program, keys, payload } = given.command;
      const into = { keys: keys && cellAt(keys, at), payload: payload && cellAt(payload, at) };
      backend.sort({ ...given.command, extent: lengthAt(extent, at), program: programAt(program, at), ...into });
      break;
    }
    case 'histogram': {
      const { extent, program, inner, into } = given.command;
      backend.histogram({
        ...given.command,
        extent: lengthAt(extent, at),
        program: programAt(program, at),
        inner: inner && { row: programAt(inner.row, at), ranks: inner.ranks },
        into: cellAt(into, at),
      });
    }
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
