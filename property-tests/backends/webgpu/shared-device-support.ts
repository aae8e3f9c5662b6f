import { deviceDescriptor } from '../../../backends/webgpu/device/device-descriptor.ts';
import { openTestGpu, testAdapter } from '../../../backends/webgpu-node/node-gpu.ts';
import { type Context, type LentColumn, type OpenOptions, open } from '../../../index.ts';
import type { BufferCount } from '../../../primitives/index.ts';

/** WebGPU's buffer usages as numbers, because Node has no global object with their names. */
const MAP_READ = 0x1;
export const COPY_SRC = 0x4;
const COPY_DST = 0x8;
export const INDEX = 0x10;
export const VERTEX = 0x20;
export const STORAGE = 0x80;
export const INDIRECT = 0x100;
const USUAL: number = STORAGE | COPY_SRC | COPY_DST;

/**
 * Requests a device as a user would. `best` requests the same device as `open()`. `plain` requests a device without
 * optional features or raised limits.
 */
export async function requestTestDevice(kind: 'best' | 'plain' = 'best'): Promise<GPUDevice> {
  const gpu = await openTestGpu();
  const adapter = await gpu.requestAdapter({ forceFallbackAdapter: testAdapter() === 'software' });
  return adapter!.requestDevice(kind === 'best' ? deviceDescriptor(adapter!) : {});
}

/**
 * Runs a test body with a device and a context on it. Afterwards, the device must still work and must have reported no
 * error.
 */
export async function withShared(
  body: (context: Context, device: GPUDevice) => Promise<void>,
  options: OpenOptions = {},
  kind: 'best' | 'plain' = 'best',
): Promise<void> {
  const device = await requestTestDevice(kind);
  const uncaptured: string[] = [];
  device.addEventListener('uncapturederror', ({ error }) => void uncaptured.push(error.message));
  const context = await open({ device, ...options });
  try {
    await body(context, device);
  } finally {
    await context.close();
    if (uncaptured.length === 0) await readBuffer(device, upload(device, Uint32Array.of(1)), 0, 4);
    device.destroy();
  }
  if (uncaptured.length > 0) throw new Error(uncaptured.join('\n'));
}

/**
 * Creates a buffer on the caller's device with the given bytes. The size of the buffer is rounded up to whole words.
 */
export function upload(device: GPUDevice, data: ArrayBufferView, usage: number = USUAL, from = 0): GPUBuffer {
  const bytes = Math.ceil((from + data.byteLength) / 4) * 4;
  const buffer = device.createBuffer({ size: Math.max(4, bytes), usage });
  const all = new Uint8Array(Math.max(4, bytes)).fill(0xa5);
  all.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), from);
  device.queue.writeBuffer(buffer, 0, all);
  return buffer;
}

/**
 * Copies a range of bytes into a new buffer that can be mapped. The copy runs in queue order: after all work that was
 * submitted before.
 */
export function copyOut(device: GPUDevice, buffer: GPUBuffer, byte: number, bytes: number): GPUBuffer {
  const copy = device.createBuffer({ size: Math.max(4, bytes), usage: MAP_READ | COPY_DST });
  const encoder = device.createCommandEncoder();
  if (bytes > 0) encoder.copyBufferToBuffer(buffer, byte, copy, 0, bytes);
  device.queue.submit([encoder.finish()]);
  return copy;
}

/** Reads all bytes of a copied buffer, and destroys the buffer. */
export async function bytesOf(copy: GPUBuffer, bytes: number): Promise<Uint8Array> {
  await copy.mapAsync(MAP_READ);
  const result = new Uint8Array(copy.getMappedRange().slice(0, bytes));
  copy.destroy();
  return result;
}

export function readBuffer(device: GPUDevice, buffer: GPUBuffer, byte: number, bytes: number): Promise<Uint8Array> {
  return bytesOf(copyOut(device, buffer, byte, bytes), bytes);
}

/**
 * Reads the bytes of a lent column as its user would: copies whole words, then takes the column's elements from the
 * copy.
 */
export async function readLent(device: GPUDevice, lent: LentColumn): Promise<Uint8Array> {
  const from = Math.floor(lent.offset / 4) * 4;
  const to = Math.ceil((lent.offset + lent.bytes) / 4) * 4;
  const words = await readBuffer(device, lent.buffer, from, to - from);
  return words.subarray(lent.offset - from, lent.offset - from + lent.bytes);
}

export async function readCount(device: GPUDevice, { buffer, offset }: BufferCount): Promise<readonly number[]> {
  const bytes = await readBuffer(device, buffer, offset, 20);
  return [...new Uint32Array(bytes.buffer, bytes.byteOffset, 5)];
}

/** A device with records of its live buffers and of its calls. */
export interface WatchedDevice {
  readonly device: GPUDevice;
  /** Buffers and query sets that were created and not destroyed. */
  readonly alive: Set<GPUBuffer | GPUQuerySet>;
  /** Names of the device's methods, in the order of their calls. */
  readonly calls: string[];
}

export function watchDevice(real: GPUDevice): WatchedDevice {
  const alive = new Set<GPUBuffer | GPUQuerySet>();
  const calls: string[] = [];
  const device = new Proxy(real, {
    get(_, key) {
      const value = Reflect.get(real, key, real) as unknown;
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        calls.push(String(key));
        const result = (value as (...all: unknown[]) => unknown).apply(real, args);
        if (key === 'createBuffer' || key === 'createQuerySet') {
          const made = result as GPUBuffer;
          alive.add(made);
          const destroy = made.destroy.bind(made);
          made.destroy = () => {
            alive.delete(made);
            return destroy();
          };
        }
        return result;
      };
    },
  });
  return { device, alive, calls };
}
