import { DeviceLostError } from '../primitives/checks/errors.ts';
import type { Gpu } from '../primitives/contract/gpu-types.ts';
import type { CardHolder, CardSetting } from './card-holder.ts';
import { type Card, type CardProcess, primeTag } from './cards.ts';

/** How cards are listed, tried and opened. Tests pass replacements. */
export interface CardParts {
  listCards(): Promise<readonly Card[]>;
  /** Bytes in use on each card, by UUID. */
  memoryInUse(): Promise<ReadonlyMap<string, number>>;
  cardProcesses(): Promise<readonly CardProcess[]>;
  /** Holds a card in a process of its own, which gets the setting. */
  holdCardElsewhere(setting: CardSetting): Promise<CardHolder>;
  /** Opens WebGPU in this process, which gets the setting. */
  openGpu(setting: CardSetting): Promise<Gpu>;
  /** Holds the card on which `gpu` opens devices. */
  holdCard(gpu: Gpu): Promise<CardHolder>;
}

/** A card, and WebGPU on it. */
export interface OpenedCard {
  readonly card: Card;
  readonly gpu: Gpu;
}

/**
 * Opens WebGPU on the card that `quadrille devices` lists with this number. What selects one of several identical cards
 * depends on the machine: the settings that may do it are tried one after the other in processes of their own, and the
 * first that takes the card is used here. Then the card that this process has is checked again.
 *
 * @throws DeviceLostError `device/no-card` for a number that no card has, `device/card-unselectable` where no setting
 * takes the card, `device/other-card` if this process has another card nevertheless; errors of `parts` if no card can
 * be opened at all.
 */
export async function openCard(index: number, parts: CardParts, signal: AbortSignal): Promise<OpenedCard> {
  const cards = await parts.listCards();
  const card = cards.find((each) => each.index === index);
  if (card === undefined) throw noSuchCard(index, cards);
  const setting = await settingFor(card, cards, parts, signal);
  const gpu = await parts.openGpu(setting);
  const taken = await takenBy(await parts.holdCard(gpu), cards, parts);
  if (taken?.uuid !== card.uuid) throw otherCard(card, taken);
  return { card, gpu };
}

async function settingFor(
  card: Card,
  cards: readonly Card[],
  parts: CardParts,
  signal: AbortSignal,
): Promise<CardSetting> {
  let failure: unknown;
  let isAnyTold = false;
  for (const setting of settings(card, cards)) {
    signal.throwIfAborted();
    try {
      const taken = await takenBy(await parts.holdCardElsewhere(setting), cards, parts);
      if (taken?.uuid === card.uuid) return setting;
      isAnyTold ||= taken !== undefined;
    } catch (error) {
      failure ??= error;
    }
  }
  // If no process got as far as a card, the reason is elsewhere: a missing package or driver, or a card that is full.
  throw isAnyTold || failure === undefined ? unselectable(card) : failure;
}

/**
 * The settings that may select a card, the simplest first. The tag of a card in `DRI_PRIME` selects the other one of
 * two identical cards on some machines, so that the tags of all cards are among them.
 */
function settings(card: Card, cards: readonly Card[]): readonly CardSetting[] {
  const others = cards.filter((each) => each !== card);
  const isAlone = !others.some(({ name }) => plain(name) === plain(card.name));
  return [
    { environment: {} },
    ...(isAlone ? [{ environment: {}, name: card.name }] : []),
    ...[card, ...others].map(({ bus }) => ({ environment: { DRI_PRIME: primeTag(bus) } })),
  ];
}

/** How often it is tried to tell a card by its memory. Other processes may take and free memory meanwhile. */
const TRIALS = 5;
const STEP = 2 ** 26;
/** The memory of a card is told in MiB, and drivers round up what is taken. */
const TOLERANCE = 2 ** 25;

/**
 * Finds out which card a holder has, and closes the holder. Undefined if it cannot be told.
 *
 * @throws Errors of the holder.
 */
async function takenBy(holder: CardHolder, cards: readonly Card[], parts: CardParts): Promise<Card | undefined> {
  try {
    const named = cards.filter(({ name }) => plain(name) === plain(holder.adapter));
    if (named.length < 2) return named[0];
    const uuids = new Set(
      (await parts.cardProcesses()).filter(({ pid }) => pid === holder.pid).map(({ uuid }) => uuid),
    );
    if (uuids.size === 1) return cards.find(({ uuid }) => uuids.has(uuid));
    for (let trial = 0; trial < TRIALS; trial++) {
      // Several workers may start at once. Each takes an amount of its own, and looks for it.
      const amount = (16 + Math.floor(Math.random() * 16)) * STEP;
      const before = await parts.memoryInUse();
      await holder.take(amount);
      const after = await parts.memoryInUse();
      await holder.free();
      const risen = [...after].filter(
        ([uuid, bytes]) => Math.abs(bytes - (before.get(uuid) ?? 0) - amount) < TOLERANCE,
      );
      if (risen.length === 1) return cards.find(({ uuid }) => uuid === risen[0]![0]);
    }
    return undefined;
  } finally {
    await holder.close();
  }
}

/** A name without what spells it differently: the driver writes "NVIDIA H200" and Dawn "nvidia-h200". */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

const shown = ({ index, name, bus }: Card): string => `GPU ${index}, ${name} at ${bus}`;

function noSuchCard(index: number, cards: readonly Card[]): DeviceLostError {
  if (cards.length > 0) {
    return new DeviceLostError('device/no-card', `There is no GPU ${index}.`, {
      expected: cards.map(shown).join('; '),
      got: `${index}`,
      remedy: 'Give a number that quadrille devices lists.',
    });
  }
  return new DeviceLostError(
    'device/no-card',
    'The GPUs of this machine have no numbers, because nvidia-smi does not list them.',
    {
      remedy: 'Leave --gpu out, or make nvidia-smi run.',
    },
  );
}

function unselectable(card: Card): DeviceLostError {
  return new DeviceLostError('device/card-unselectable', `Nothing makes a process take ${shown(card)}.`, {
    remedy:
      "Install Mesa's layer for Vulkan (Debian: mesa-vulkan-drivers), or hide the device nodes of the other cards from the worker (a container with one card; unshare -rm, and /dev/null mounted over /dev/nvidiaN).",
  });
}

function otherCard(card: Card, taken: Card | undefined): DeviceLostError {
  return new DeviceLostError('device/other-card', 'This process has another GPU than the one asked for.', {
    expected: shown(card),
    got: taken === undefined ? 'one that cannot be told' : shown(taken),
    remedy: 'Start the worker again, and hide the device nodes of the other cards from it if that does not help.',
  });
}
