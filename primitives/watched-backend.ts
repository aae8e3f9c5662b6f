import type { ArrayBinding, Backend, DeviceBuffer, Length, Program } from './contract/backend.ts';

type Buffers = readonly DeviceBuffer[];

/** An observer that is informed which buffers every command reads and writes. */
export interface Watch {
  /**
   * Whether nothing needs to be observed at the moment. While `idle` is true, commands are not reported, which saves
   * the time to list their buffers.
   */
  readonly idle: boolean;
  /** Called before a command or a transfer writes buffers. */
  beforeWrite(writes: Buffers): void;
  /** Called after a command is issued. */
  afterCommand(reads: Buffers, writes: Buffers): void;
}

type Kernels = Pick<
  Backend,
  | 'forEach'
  | 'walk'
  | 'reduce'
  | 'scan'
  | 'sort'
  | 'histogram'
  | 'relax'
  | 'crossReduce'
  | 'weightedHistogram'
  | 'decodeTiles'
  | 'tileHistograms'
  | 'write'
>;

/** Wraps a backend so that all its commands are reported to a watch. Members that are not commands work as before. */
export function watchedBackend<B extends Backend>(backend: B, watch: Watch): B {
  const issue = <R>(
    length: Length,
    programs: readonly Program[],
    cells: readonly (Target | undefined)[],
    run: () => R,
  ): R => {
    if (watch.idle) return run();
    const writes = cells.flatMap((cell) => (cell === undefined ? [] : [cell.buffer]));
    watch.beforeWrite(writes);
    const done = run();
    watch.afterCommand([...lengthBuffer(length), ...programs.flatMap(buffersRead)], writes);
    return done;
  };
  const kernels: Kernels = {
    forEach: (extent, program, stores) =>
      issue(extent, [program], stores, () => backend.forEach(extent, program, stores)),
    walk: (command) =>
      issue(command.extent, [command.start, command.step], command.stores, () => backend.walk(command)),
    reduce: (extent, program, monoid, into) =>
      issue(extent, [program], [into], () => backend.reduce(extent, program, monoid, into)),
    scan: (command) =>
      issue(command.extent, [command.program, command.emit], [...command.stores, command.total], () =>
        backend.scan(command),
      ),
    sort: (command) =>
      issue(command.extent, [command.program], [command.keys, command.payload], () => backend.sort(command)),
    histogram: (command) =>
      issue(
        command.extent,
        command.inner === undefined ? [command.program] : [command.program, command.inner.row],
        [command.into],
        () => backend.histogram(command),
      ),
    relax: (command) => {
      const { extent, cells, grids, own, step, until, state, rounds } = command;
      const run = (): boolean => backend.relax?.(command) === true;
      // The command also reads the buffers of `state`, but need not list them as reads. It writes these buffers in
      // place, so they keep the capacity checks on which their contents depend.
      return issue(extent, [grids, own, step, until], [...state, rounds], () => issue(cells, [], [], run));
    },
    crossReduce: (command) => {
      const { extent, others, left, right, step, leftOwn, rightOwn, value, results } = command;
      if (watch.idle) return backend.crossReduce?.(command) === true;
      const writes = results.map(({ buffer }) => buffer);
      watch.beforeWrite(writes);
      const done = backend.crossReduce?.(command) === true;
      const programs = [step, leftOwn, rightOwn, value].flatMap(buffersRead);
      const vectors = [...left, ...right].flatMap(({ array }) => arrayBuffers(array));
      watch.afterCommand([...lengthBuffer(extent), ...lengthBuffer(others), ...programs, ...vectors], writes);
      return done;
    },
    weightedHistogram: (command) => {
      const run = (): boolean => backend.weightedHistogram?.(command) === true;
      return issue(command.extent, [command.program], [command.into], run);
    },
    decodeTiles: (command) => {
      const { extent, tile, words, into } = command;
      if (watch.idle) return backend.decodeTiles?.(command) === true;
      watch.beforeWrite([into.buffer]);
      const done = backend.decodeTiles?.(command) === true;
      watch.afterCommand([...lengthBuffer(extent), ...buffersRead(tile), ...arrayBuffers(words)], [into.buffer]);
      return done;
    },
    tileHistograms: (command) => {
      const { extent, tile, part, bin, words, masks, hidden, into } = command;
      const run = (): boolean => backend.tileHistograms?.(command) === true;
      if (watch.idle) return run();
      watch.beforeWrite([into.buffer]);
      const done = run();
      const arrays = [words, masks, ...(hidden === undefined ? [] : [hidden.bits])];
      const reads = [...[tile, part, bin].flatMap(buffersRead), ...arrays.flatMap(arrayBuffers)];
      watch.afterCommand([...lengthBuffer(extent), ...reads], [into.buffer]);
      return done;
    },
    write(buffer, word, data) {
      if (!watch.idle) watch.beforeWrite([buffer]);
      backend.write(buffer, word, data);
    },
  };
  return Object.defineProperties({} as B, { ...membersOf(backend), ...Object.getOwnPropertyDescriptors(kernels) });
}

interface Target {
  readonly buffer: DeviceBuffer;
}

function buffersRead({ arrays }: Program): DeviceBuffer[] {
  return [...arrays.values()].flatMap(arrayBuffers);
}

function arrayBuffers({ buffer, length }: ArrayBinding): DeviceBuffer[] {
  return [buffer, ...lengthBuffer(length)];
}

export function lengthBuffer(length: Length): DeviceBuffer[] {
  return typeof length === 'number' ? [] : [length.buffer];
}

/**
 * Property descriptors that forward to all members of an object, including the members of its class. Each access
 * reads the current value.
 */
function membersOf(object: object): PropertyDescriptorMap {
  const members: PropertyDescriptorMap = {};
  for (let level = object; level !== Object.prototype && level !== null; level = Object.getPrototypeOf(level)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      members[name] ??= {
        ...memberOf(object, name, typeof value === 'function'),
        enumerable: true,
        configurable: true,
      };
    }
  }
  return members;
}

function memberOf(object: object, name: string, isMethod: boolean): PropertyDescriptor {
  const target = object as Record<string, unknown>;
  if (!isMethod) return { get: () => target[name] };
  return {
    value: (...args: unknown[]) => (target as Record<string, (...args: unknown[]) => unknown>)[name]!(...args),
    writable: true,
  };
}
