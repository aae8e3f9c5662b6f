import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createWebGpuBackend, deviceDescriptor } from '../../../backends/webgpu/index.ts';
import { openTestGpu } from '../../../backends/webgpu-node/node-gpu.ts';
import { Context } from '../../../primitives/context/context.ts';

/** The size of a staging buffer in bytes. */
const SLAB = 2 ** 16;

/**
 * JavaScript engines collect garbage when mapped ranges have reached a certain size. If every transfer mapped whole
 * staging buffers, every second transfer would trigger a collection.
 */
test('transfers map only as many bytes as they move', async () => {
  const { device, mapped } = await openCountedDevice();
  const context = new Context(await createWebGpuBackend({ device, staging: { buffers: 4, bytes: SLAB } }));
  try {
    const lengths = fc.array(fc.integer({ min: 1, max: SLAB }), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(lengths, async (lengths) => {
        mapped.bytes = 0;
        for (const length of lengths) {
          const column = context.column(Uint32Array.from({ length }, (_, i) => i));
          const found = await context.read(column);
          expect(found[length - 1]).toBe(length - 1);
          context.dispose(column);
        }
        // All words that are read are mapped. Words that are written are mapped only if they do not go through
        // writeBuffer.
        const moved = lengths.reduce((sum, length) => sum + 4 * length, 0);
        expect(mapped.bytes).toBeGreaterThanOrEqual(moved);
        expect(mapped.bytes).toBeLessThanOrEqual(2 * moved);
      }),
      { numRuns: 20 },
    );
  } finally {
    await context.close();
    device.destroy();
  }
});

/** A device that counts the bytes of its mapped ranges. */
async function openCountedDevice(): Promise<{ readonly device: GPUDevice; readonly mapped: { bytes: number } }> {
  const adapter = await (await openTestGpu()).requestAdapter();
  const device = await adapter!.requestDevice(deviceDescriptor(adapter!));
  const mapped = { bytes: 0 };
  const create = device.createBuffer.bind(device);
  device.createBuffer = (descriptor) => {
    const buffer = create(descriptor);
    const range = buffer.getMappedRange.bind(buffer);
    buffer.getMappedRange = (...args) => {
      const memory = range(...args);
      mapped.bytes += memory.byteLength;
      return memory;
    };
    return buffer;
  };
  return { device, mapped };
}
