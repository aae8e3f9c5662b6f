import { OutOfMemoryError } from '../../primitives/checks/errors.ts';
import type { Store } from '../../primitives/contract/backend.ts';
import { entryOf } from '../../primitives/ir/ir.ts';
import type { Analysis, WindowedCommand } from './analysis.ts';
import type { HostStore } from './host-stores.ts';
import type { HostWords } from './host-words.ts';
import { type BufferPlaces, bytesOf, type Spillable, staysOnDevice } from './places.ts';

/** Where the buffers of a command are while it runs in windows. */
export interface Residence {
  /** Buffers whose whole contents are on the device. */
  readonly inPlace: ReadonlySet<Spillable>;
  /** The stores that the device executes. These stores write to buffers in `inPlace`. */
  readonly deviceStores: readonly Store[];
  /** The stores that the host executes. */
  readonly hostStores: readonly HostStore[];
  /** Replaces the old contents of the written buffers by the stored words. Must be called after the last window. */
  finish(): void;
}

/**
 * Decides which buffers of a command are on the device while it runs in windows (ranges of indices), and moves them.
 * - Buffers that are read at random, and cells (single values), must be on the device.
 * - Buffers already on the device stay there as long as half of the device memory remains for windows.
 * - Buffers that are stored to at computed indices are moved to the device as long as half of its memory remains for
 *   windows.
 * - Stores to a buffer that is also read happen on the host, so that no window reads what another window wrote.
 *
 * @throws OutOfMemoryError `memory/random-access`
 */
export async function settle(
  places: BufferPlaces,
  analysis: Analysis,
  command: WindowedCommand,
  onlyNeeded: boolean,
): Promise<Residence> {
  const { read, written, stores } = analysis;
  const { storesToHost = true, fixed = () => 0 } = command;
  const cells = new Set((command.cells ?? []) as Spillable[]);
  const inPlace = new Set([...analysis.whole, ...cells, ...(storesToHost ? [] : written)]);
  const fixedBytes = 4 * fixed(analysis.length);
  await makeResident(places, analysis, inPlace, fixedBytes, storesToHost ? [] : written);

  const leavesHalf = ({ words }: Spillable): boolean =>
    !onlyNeeded && bytesOf(inPlace) + fixedBytes + 4 * words <= places.memoryBytes / 2;
  for (const buffer of [...read, ...written].filter((each) => !inPlace.has(each))) {
    const isHere = staysOnDevice(buffer) && !written.has(buffer);
    if (isHere || (buffer.resident && !(read.has(buffer) && written.has(buffer)) && leavesHalf(buffer)))
      inPlace.add(buffer);
    else await places.spill(buffer);
  }
  for (const buffer of placedAnywhere(stores)) {
    if (inPlace.has(buffer) || read.has(buffer) || !leavesHalf(buffer)) continue;
    if (await places.makeRoom(4 * buffer.words, inPlace)) {
      places.place(buffer);
      inPlace.add(buffer);
    }
  }

  const targets = new Map<Spillable, HostWords>();
  for (const buffer of storesToHost ? written : []) {
    if (inPlace.has(buffer) && !read.has(buffer)) continue;
    await places.copyToHost(buffer);
    targets.set(buffer, read.has(buffer) ? places.hostOf(buffer).clone() : places.hostOf(buffer));
  }
  const targetOf = ({ buffer }: Store): HostWords | undefined => targets.get(buffer as Spillable);
  return {
    inPlace,
    deviceStores: stores.filter((store) => targetOf(store) === undefined),
    hostStores: stores.flatMap((store) => {
      const target = targetOf(store);
      return target === undefined ? [] : [{ store, target }];
    }),
    finish() {
      places.used(inPlace, [...[...written].filter((buffer) => !targets.has(buffer)), ...cells]);
      for (const [buffer, words] of targets) places.keepOnHost(buffer, words);
    },
  };
}

/** The buffers that are stored to at computed indices. */
function placedAnywhere(stores: readonly Store[]): Set<Spillable> {
  return new Set(stores.filter(({ index }) => index !== undefined).map(({ buffer }) => buffer as Spillable));
}

async function makeResident(
  places: BufferPlaces,
  analysis: Analysis,
  needed: ReadonlySet<Spillable>,
  fixedBytes: number,
  written: Iterable<Spillable>,
): Promise<void> {
  const missing = bytesOf([...needed].filter(({ resident }) => !resident)) + fixedBytes;
  const fits = bytesOf(needed) + fixedBytes <= places.memoryBytes;
  if (!fits || !(await places.makeRoom(missing, needed))) {
    throw tooMuchAtRandom(places, analysis, bytesOf(needed) + fixedBytes, bytesOf(written));
  }
  for (const buffer of needed) places.place(buffer);
}

/**
 * The error for a command that needs more device memory at once than there is. The message names the arrays that are
 * read at random, and `storedBytes`, the size of the buffers that the command stores to, unless this size is 0.
 */
export function tooMuchAtRandom(
  { memoryBytes }: BufferPlaces,
  { programs }: Analysis,
  bytes: number,
  storedBytes = 0,
): OutOfMemoryError {
  const lists = programs.flatMap(({ module, arrays, placings }) => {
    const far = [...arrays].filter(([name]) => placings.get(name) !== 'aligned');
    const list = far.map(([name, { buffer }]) => `${name} (${4 * buffer.words} bytes)`);
    return list.length === 0 ? [] : [`${list.join(', ')} in ${entryOf(module).name}`];
  });
  const reads = lists.length === 0 ? '' : ` It reads far from its own index: ${lists.join('; ')}.`;
  const writes = storedBytes === 0 ? '' : ` It stores to ${storedBytes} bytes.`;
  return new OutOfMemoryError(
    'memory/random-access',
    `A command needs more data on the device than fits.${reads}${writes}`,
    {
      expected: `at most ${memoryBytes} bytes`,
      got: `${bytes}`,
      remedy: 'Raise limits.memoryBytes, or gather from smaller tables.',
    },
  );
}
