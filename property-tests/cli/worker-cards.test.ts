import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { openTestGpu, testAdapter } from '../../backends/webgpu-node/index.ts';
import { type CardHolder, type CardSetting, holdCard } from '../../cli/card-holder.ts';
import { holdCardElsewhere } from '../../cli/card-holder-process.ts';
import { type Card, cardProcesses, listCards, memoryInUse, primeTag } from '../../cli/cards.ts';
import { type CardParts, openCard } from '../../cli/choose-card.ts';
import type { Gpu } from '../../primitives/contract/gpu-types.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';

/** A machine with cards, of which a process gets one by its environment. */
interface Machine {
  readonly names: readonly string[];
  /** The card of a process without a setting. */
  readonly first: number;
  /** The card of a process with the tag of each card; undefined where the tag changes nothing. */
  readonly byTag: readonly (number | undefined)[];
  /** Whether the tool of the driver lists processes. */
  readonly listsProcesses: boolean;
  /** How many times others take memory of another card while a holder takes some. */
  readonly disturbances: number;
  /** Whether the worker itself gets the next card, whatever it was set to. */
  readonly turns: boolean;
}

const CARDS = 4;
const aMachine: fc.Arbitrary<Machine> = fc
  .array(fc.constantFrom('NVIDIA H200', 'NVIDIA H200', 'NVIDIA L4'), { minLength: 1, maxLength: CARDS })
  .chain((names) => {
    const aCard = fc.nat(names.length - 1);
    return fc.record({
      names: fc.constant(names),
      first: aCard,
      byTag: fc.array(fc.option(aCard, { nil: undefined }), { minLength: names.length, maxLength: names.length }),
      listsProcesses: fc.boolean(),
      disturbances: fc.nat(2),
      turns: fc.boolean(),
    });
  });

const cardsOf = ({ names }: Machine): Card[] =>
  names.map((name, index) => ({ index, name, bus: `00000000:00:0${index}.0`, uuid: `GPU-${index}` }));

function partsOf(machine: Machine): CardParts & { readonly opened: CardSetting[]; readonly held: Set<object> } {
  const cards = cardsOf(machine);
  const bytes = cards.map(() => 3 * 2 ** 30);
  const held = new Set<{ pid: number; card: number }>();
  const opened: CardSetting[] = [];
  let { disturbances } = machine;
  const cardOf = ({ environment, name }: CardSetting): number => {
    const named = machine.names.findIndex((each) => name !== undefined && each.includes(name));
    const tag = cards.findIndex(({ bus }) => primeTag(bus) === environment.DRI_PRIME);
    return named >= 0 ? named : (machine.byTag[tag] ?? machine.first);
  };
  const hold = async (pid: number, card: number): Promise<CardHolder> => {
    const process = { pid, card };
    held.add(process);
    let taken = 0;
    return {
      pid,
      adapter: machine.names[card]!.toLowerCase().replace(' ', '-'),
      async take(amount) {
        taken = amount;
        bytes[card]! += amount;
        if (disturbances-- > 0) bytes[(card + 1) % cards.length]! += amount;
      },
      async free() {
        bytes[card]! -= taken;
      },
      async close() {
        held.delete(process);
      },
    };
  };
  const shift = machine.turns ? 1 : 0;
  return {
    opened,
    held,
    listCards: async () => cards,
    memoryInUse: async () => new Map(cards.map(({ uuid }, card) => [uuid, bytes[card]!])),
    cardProcesses: async () =>
      machine.listsProcesses ? [...held].map(({ pid, card }) => ({ pid, uuid: cards[card]!.uuid })) : [],
    holdCardElsewhere: (setting) => hold(1, cardOf(setting)),
    openGpu: async (setting) => {
      opened.push(setting);
      return { card: (cardOf(setting) + shift) % cards.length } as unknown as Gpu;
    },
    holdCard: (gpu) => hold(2, (gpu as unknown as { readonly card: number }).card),
  };
}

const running = new AbortController().signal;
const codeOf = (error: unknown): string => (error as { readonly code: string }).code;

describe('a card by its number', () => {
  test.prop([aMachine, fc.nat(CARDS)], { numRuns: caseCount(2000) })(
    'is the one that the process gets, or is refused',
    async (machine, index) => {
      const parts = partsOf(machine);
      const name = machine.names[index];
      const isAlone = machine.names.filter((each) => each === name).length === 1;
      const isReachable = isAlone || [machine.first, ...machine.byTag].includes(index);
      const isOther = machine.turns && machine.names.length > 1;
      const outcome = await openCard(index, parts, running).catch(codeOf);
      expect(parts.held.size).toBe(0);
      if (name === undefined) expect(outcome).toBe('device/no-card');
      else if (!isReachable) expect(outcome).toBe('device/card-unselectable');
      else if (isOther) expect(outcome).toBe('device/other-card');
      else expect(outcome).toMatchObject({ card: { index }, gpu: { card: index } });
      if (machine.first === index) expect(parts.opened).toEqual([{ environment: {} }]);
    },
  );

  test('is refused where nothing tells which card was taken', async () => {
    const machine: Machine = {
      names: ['NVIDIA H200', 'NVIDIA H200'],
      first: 0,
      byTag: [1, 0],
      listsProcesses: false,
      disturbances: Number.POSITIVE_INFINITY,
      turns: false,
    };
    const outcome = await openCard(0, partsOf(machine), running).catch((error: unknown) => error);
    expect(outcome).toMatchObject({
      code: 'device/card-unselectable',
      message: expect.stringMatching(/GPU 0, NVIDIA H200 at 00000000:00:00\.0\. .*mesa-vulkan-drivers.*device nodes/),
    });
  });

  test('that no process can open is refused with the reason', async () => {
    const machine: Machine = {
      ...{ names: ['NVIDIA H200', 'NVIDIA H200'], first: 0, byTag: [1, 0] },
      ...{ listsProcesses: true, disturbances: 0, turns: false },
    };
    const full = new Error('The card has no room.');
    const cannotOpen = { ...partsOf(machine), holdCardElsewhere: () => Promise.reject(full) };
    await expect(openCard(1, cannotOpen, running)).rejects.toBe(full);
    const blind = partsOf({ ...machine, listsProcesses: false });
    const cannotTake = {
      ...blind,
      holdCardElsewhere: async (setting: CardSetting) => ({
        ...(await blind.holdCardElsewhere(setting)),
        take: () => Promise.reject(full),
      }),
    };
    await expect(openCard(1, cannotTake, running)).rejects.toBe(full);
    expect(blind.held.size).toBe(0);
  });

  test('of a machine without cards is refused', async () => {
    const parts = partsOf({ names: [], first: 0, byTag: [], listsProcesses: true, disturbances: 0, turns: false });
    await expect(openCard(0, parts, running)).rejects.toMatchObject({
      code: 'device/no-card',
      message: expect.stringContaining('nvidia-smi'),
    });
  });
});

describe("the driver's tool", () => {
  const path = process.env.PATH;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quadrille-smi-'));
    process.env.PATH = `${folder}${delimiter}${path}`;
  });
  afterAll(async () => {
    process.env.PATH = path;
    await rm(folder, { recursive: true });
  });

  const install = async (text: string): Promise<void> => {
    await writeFile(join(folder, 'nvidia-smi'), `#!/bin/sh\n${text}\n`);
    await chmod(join(folder, 'nvidia-smi'), 0o755);
  };

  test('lists cards, their memory and their processes', async () => {
    await install(`case "$*" in
'--query-gpu=index,uuid,pci.bus_id,name --format=csv,noheader,nounits')
  echo '0, GPU-ab12, 00000000:00:06.0, NVIDIA H200'
  echo '1, GPU-cd34, 0000000A:1B:00.0, A card, with a comma' ;;
'--query-gpu=uuid,memory.used --format=csv,noheader,nounits') echo 'GPU-ab12, 1024'; echo 'GPU-cd34, [N/A]' ;;
'--query-compute-apps=pid,gpu_uuid --format=csv,noheader,nounits') echo '4711, GPU-cd34' ;;
*) exit 6 ;;
esac`);
    expect(await listCards()).toEqual([
      { index: 0, uuid: 'GPU-ab12', bus: '00000000:00:06.0', name: 'NVIDIA H200' },
      { index: 1, uuid: 'GPU-cd34', bus: '0000000A:1B:00.0', name: 'A card, with a comma' },
    ]);
    expect((await listCards()).map(({ bus }) => primeTag(bus))).toEqual(['pci-0000_00_06_0', 'pci-000a_1b_00_0']);
    expect(await memoryInUse()).toEqual(new Map([['GPU-ab12', 2 ** 30]]));
    expect(await cardProcesses()).toEqual([{ pid: 4711, uuid: 'GPU-cd34' }]);
  });

  test.each(['exit 9', 'echo "No devices were found"', 'kill -9 $$'])('that fails lists no cards: %s', async (text) => {
    await install(text);
    expect([await listCards(), await cardProcesses(), await memoryInUse()]).toEqual([[], [], new Map()]);
  });

  test('that is missing lists no cards', async () => {
    await rm(join(folder, 'nvidia-smi'), { force: true });
    process.env.PATH = folder;
    expect(await listCards()).toEqual([]);
  });
});

test('a holder takes memory of its device and frees it, as often as asked', async () => {
  const gpu = await openTestGpu();
  const holder = await holdCard(gpu);
  expect(holder).toMatchObject({ pid: process.pid, adapter: expect.stringMatching(/\w/) });
  for (let i = 0; i < 2; i++) {
    await holder.take(2 ** 20);
    await holder.free();
  }
  await holder.close();
});

test.runIf(testAdapter() === 'software')('a process that finds no card says so', async () => {
  await expect(holdCardElsewhere({ environment: {} })).rejects.toMatchObject({
    code: 'device/trial',
    message: expect.stringMatching(/GPU|Vulkan/),
  });
});
