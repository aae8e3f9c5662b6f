import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** A graphics card, as the driver's own tool lists it. */
export interface Card {
  /** The number that `quadrille devices` gives the card. */
  readonly index: number;
  readonly name: string;
  /** Domain, bus, device and function, such as `00000000:06:00.0`. */
  readonly bus: string;
  readonly uuid: string;
}

/** A process that uses a card. */
export interface CardProcess {
  readonly pid: number;
  readonly uuid: string;
}

/** The tool of NVIDIA's driver. Other drivers have no tool that names cards and their memory. */
const TOOL = 'nvidia-smi';
/** How many milliseconds the tool may take. With many cards, it takes seconds. */
const PATIENCE = 30_000;

const run = promisify(execFile);

/** Lists the cards of this machine. The list is empty where the tool of the driver is missing or fails. */
export async function listCards(): Promise<readonly Card[]> {
  const rows = await ask('--query-gpu=index,uuid,pci.bus_id,name');
  return rows.flatMap(([index = '', uuid = '', bus = '', ...name]) =>
    /^\d+$/.test(index) && BUS.test(bus) ? [{ index: Number(index), uuid, bus, name: name.join(', ') }] : [],
  );
}

const BUS = /^([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-9a-f])$/i;

/** The tag of a card in the variable `DRI_PRIME`, by which Mesa's layer of Vulkan selects a card. */
export function primeTag(bus: string): string {
  const [, domain = '', ...others] = BUS.exec(bus.toLowerCase()) ?? [];
  return `pci-${[domain.slice(-4), ...others].join('_')}`;
}

/** Bytes in use on each card, by UUID. Cards that do not tell are left out. */
export async function memoryInUse(): Promise<ReadonlyMap<string, number>> {
  const rows = await ask('--query-gpu=uuid,memory.used');
  return new Map(
    rows.flatMap(([uuid = '', mebibytes = '']) =>
      /^\d+$/.test(mebibytes) ? [[uuid, Number(mebibytes) * 2 ** 20] as const] : [],
    ),
  );
}

/** The processes that use a card. In a container, there may be none, although there are some. */
export async function cardProcesses(): Promise<readonly CardProcess[]> {
  const rows = await ask('--query-compute-apps=pid,gpu_uuid');
  return rows.flatMap(([pid = '', uuid = '']) => (/^\d+$/.test(pid) ? [{ pid: Number(pid), uuid }] : []));
}

/** The cells of each line that the tool prints. None if the tool is missing or fails. */
async function ask(query: string): Promise<string[][]> {
  const format = '--format=csv,noheader,nounits';
  const { stdout } = await run(TOOL, [query, format], { timeout: PATIENCE }).catch(() => ({ stdout: '' }));
  return stdout.split('\n').map((line) => line.split(',').map((cell) => cell.trim()));
}
