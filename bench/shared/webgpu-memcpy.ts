import { MAP_MODE_READ, usage } from '../../backends/webgpu/device/usage.ts';

/**
 * Times copies on a device between two buffers of the same size. WebGPU benchmarks use such a copy as their unit of
 * comparison.
 */
export interface Memcpy {
  /**
   * Times `count` consecutive copies by the device's own clock, after a warm-up. Returns the milliseconds of each copy.
   */
  times(count: number): Promise<number[]>;
  close(): void;
}

/** Bytes to copy before measuring, because an idle GPU needs some tenths of a second to raise its clock frequency. */
const WARM_UP_BYTES = 2 ** 38;
const WARM_UP_COPIES = 4000;

/** Opens a separate device, with two buffers of `bytes` bytes filled with varying words. */
export async function openMemcpy(gpu: GPU, adapterChoice: 'hardware' | 'software', bytes: number): Promise<Memcpy> {
  const adapter = await gpu.requestAdapter(
    adapterChoice === 'software' ? { forceFallbackAdapter: true } : { powerPreference: 'high-performance' },
  );
  if (adapter === null) throw new Error(`There is no ${adapterChoice} adapter here.`);
  const device = await adapter.requestDevice({
    requiredFeatures: ['timestamp-query'],
    requiredLimits: { maxBufferSize: adapter.limits.maxBufferSize },
  });
  const [from, to] = [0, 1].map(() =>
    device.createBuffer({ size: bytes, usage: usage.copySource | usage.copyDestination }),
  ) as [GPUBuffer, GPUBuffer];
  const noise = Uint32Array.from({ length: 2 ** 22 }, (_, i) => Math.imul(i ^ (i >>> 7), 0x9e3779b1));
  for (let at = 0; at < bytes; at += noise.byteLength) {
    device.queue.writeBuffer(from, at, noise, 0, Math.min(noise.length, (bytes - at) / 4));
  }
  // Dawn in Node requires that these objects stay referenced while the device is in use.
  let alive: readonly unknown[] = [gpu, adapter, device];

  return {
    async times(count) {
      const set = device.createQuerySet({ type: 'timestamp', count: count + 1 });
      const size = (count + 1) * 8;
      const resolved = device.createBuffer({ size, usage: usage.queryResolve | usage.copySource });
      const host = device.createBuffer({ size, usage: usage.mapRead | usage.copyDestination });
      const encoder = device.createCommandEncoder();
      const stamp = (endOfPassWriteIndex: number): void =>
        encoder.beginComputePass({ timestampWrites: { querySet: set, endOfPassWriteIndex } }).end();
      const copy = (): void => encoder.copyBufferToBuffer(from, 0, to, 0, bytes);
      const warmUps = adapterChoice === 'hardware' ? Math.min(WARM_UP_COPIES, WARM_UP_BYTES / bytes) : 0;
      for (let done = 0; done < warmUps; done++) copy();
      stamp(0);
      for (let i = 1; i <= count; i++) {
        copy();
        stamp(i);
      }
      encoder.resolveQuerySet(set, 0, count + 1, resolved, 0);
      encoder.copyBufferToBuffer(resolved, 0, host, 0, size);
      device.queue.submit([encoder.finish()]);
      await host.mapAsync(MAP_MODE_READ);
      const stamps = new BigUint64Array(host.getMappedRange().slice(0));
      for (const each of [set, resolved, host]) each.destroy();
      return Array.from(stamps.subarray(1), (time, i) => Number(time - stamps[i]!) / 1e6);
    },
    close() {
      alive = [];
      device.destroy();
      void alive;
    },
  };
}
