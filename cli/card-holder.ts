import { adapterName } from '../backends/webgpu/device/adapter-name.ts';
import { DeviceLostError } from '../primitives/checks/errors.ts';
import type { Gpu } from '../primitives/contract/gpu-types.ts';

/** How a process gets a card: variables of its environment, and the name by which Dawn chooses an adapter. */
export interface CardSetting {
  readonly environment: Readonly<Record<string, string>>;
  readonly name?: string | undefined;
}

/** Holds a device of a card and takes memory there, so that others can see which card it is. */
export interface CardHolder {
  /** The process that holds the device. */
  readonly pid: number;
  /** Name of the adapter. */
  readonly adapter: string;
  take(bytes: number): Promise<void>;
  /** Frees the memory that was taken. */
  free(): Promise<void>;
  close(): Promise<void>;
}

/** Every device allows buffers of this many bytes. */
const PIECE = 2 ** 28;
const STORAGE = 128;

/** Opens a device on the first adapter of `gpu`, in this process. */
export async function holdCard(gpu: Gpu): Promise<CardHolder> {
  const adapter = await gpu.requestAdapter();
  if (adapter === null) throw new DeviceLostError('device/no-adapter', 'There is no adapter.');
  const device = await adapter.requestDevice();
  const taken: { destroy(): void }[] = [];
  return {
    pid: process.pid,
    adapter: adapterName(adapter.info),
    async take(bytes) {
      device.pushErrorScope('out-of-memory');
      for (let left = bytes; left > 0; left -= PIECE) {
        taken.push(device.createBuffer({ size: Math.min(PIECE, left), usage: STORAGE }));
      }
      const error = await device.popErrorScope();
      if (error !== null) throw new DeviceLostError('device/memory', `The card has no room: ${error.message}`);
      await device.queue.onSubmittedWorkDone();
    },
    async free() {
      for (const buffer of taken.splice(0)) buffer.destroy();
      await device.queue.onSubmittedWorkDone();
    },
    async close() {
      device.destroy();
    },
  };
}
