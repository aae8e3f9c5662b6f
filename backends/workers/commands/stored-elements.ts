import { OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import {
  type Backend,
  capacityOf,
  type DeviceBuffer,
  type Extent,
  type KernelCommand,
  type Program,
} from '../../../primitives/contract/backend.ts';
import { assemble, leafAt } from '../../../primitives/derived/assembled-program.ts';
import { entryOf, type Module, type ScalarType } from '../../../primitives/ir/ir.ts';
import { launchForEach, takesRowsOrMasks } from '../kernels/rows/for-each.ts';
import type { Addresses, Launch, Launcher } from './launch.ts';

/** A command that evaluates a program for every index of its extent. */
interface Elements {
  readonly extent: Extent;
  readonly program: Program;
}

/** With fewer rows, a launch takes longer to begin than the elements to compute. */
const MIN_ROWS = 2 ** 12;

/**
 * Launches a command whose kernel evaluates `program` in straight vectors or one index at a time. A program that needs
 * rows of a grid or masks for vectors is evaluated by the kernel that has these: it stores the elements in scratch
 * memory, where the command reads them.
 */
export function launchStored<C extends Elements>(
  launcher: Launcher,
  command: C,
  launch: (launcher: Launcher, command: C) => Launch,
): Launch {
  const { extent, program } = command;
  const rows = capacityOf(extent);
  const { parameters, results } = entryOf(program.module);
  // Elements that depend on more than their index, such as a rank, are not stored.
  if (rows < MIN_ROWS || parameters.length !== 1 || !takesRowsOrMasks(program)) return launch(launcher, command);
  const rooms = takeRooms(launcher, results.length, rows);
  if (rooms === undefined) return launch(launcher, command);
  const inside = { ...launcher, addresses: withRooms(launcher.addresses, rooms) };
  const stores = rooms.map(({ buffer }, value) => ({ buffer, offset: 0, capacity: rows, value }));
  const first = launchForEach(inside, { kind: 'forEach', extent, program, stores });
  return inOrder([first, launch(inside, { ...command, program: reading(results, rooms, extent) })]);
}

/**
 * Launches a command as several others, which its derived form issues. Memory that these take is scratch memory, all of
 * it until the end of the launch.
 */
export function launchDerived(
  launcher: Launcher,
  walkRows: number,
  derived: (backend: Pick<Backend, 'allocate' | 'release' | 'run' | 'walkRows'>) => void,
  launch: (launcher: Launcher, command: KernelCommand) => Launch,
): Launch {
  const rooms: Room[] = [];
  const inside = { ...launcher, addresses: withRooms(launcher.addresses, rooms) };
  const launches: Launch[] = [];
  derived({
    walkRows,
    allocate(words) {
      const buffer = { id: -1 - rooms.length, words };
      rooms.push({ buffer, at: launcher.scratch(4 * words) });
      return buffer;
    },
    release() {},
    run(command) {
      launches.push(launch(inside, command));
      return true;
    },
  });
  return inOrder(launches);
}

/** One launch of the phases of several, one after the other. */
function inOrder(launches: readonly Launch[]): Launch {
  let behind = 0;
  const moved = launches.map(({ words, phases }) => {
    const start = behind;
    behind += 4 * words.length;
    return phases.map((phase) => ({ ...phase, offset: start + (phase.offset ?? 0) }));
  });
  return { words: launches.flatMap(({ words }) => words), phases: moved.flat() };
}

/** Scratch memory of a result, and the buffer that stands for it. */
interface Room {
  readonly buffer: DeviceBuffer;
  readonly at: number;
}

/** Undefined if there is not enough memory: the command then computes its elements itself. */
function takeRooms(launcher: Launcher, count: number, rows: number): Room[] | undefined {
  try {
    return Array.from({ length: count }, (_, k) => ({
      buffer: { id: -1 - k, words: rows },
      at: launcher.scratch(4 * rows),
    }));
  } catch (error) {
    if (error instanceof OutOfMemoryError) return undefined;
    throw error;
  }
}

function withRooms(addresses: Addresses, rooms: readonly Room[]): Addresses {
  const roomOf = (buffer: DeviceBuffer): Room | undefined => rooms.find((room) => room.buffer === buffer);
  return {
    ...addresses,
    of: (cell, words) => roomOf(cell.buffer)?.at ?? addresses.of(cell, words),
    ofArray: (binding, bytes) => roomOf(binding.buffer)?.at ?? addresses.ofArray(binding, bytes),
  };
}

/** Modules by the types of their results, so that kernels that read stored elements are compiled once. */
const modules = new Map<string, Module>();

/** A program that reads its results from scratch memory. */
function reading(types: readonly ScalarType[], rooms: readonly Room[], extent: Extent): Program {
  const key = types.join(' ');
  const leaf = (type: ScalarType, k: number) => leafAt({ type, buffer: rooms[k]!.buffer, offset: 0 }, extent);
  const arrays = Object.fromEntries(types.map((type, k) => [`element${k}`, leaf(type, k)]));
  const kept = { get: () => modules.get(key), set: (module: Module) => modules.set(key, module) };
  return assemble(
    'storedElements',
    types,
    { arrays },
    (index, inside) => types.map((_, k) => inside.arrays[`element${k}`]!.at(index)),
    kept,
  );
}
