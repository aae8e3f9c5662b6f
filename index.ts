/**
 * Quadrille runs data-parallel primitives over columns on WebGPU, on worker threads or in plain JavaScript. Functors
 * (the functions that primitives apply to rows) are written once, and all backends return the same bytes.
 *
 * {@link open} chooses a backend and returns a {@link Context}. Everything else is a function over its columns.
 *
 * @packageDocumentation
 */

export { deviceDescriptor } from './backends/webgpu/device/device-descriptor.ts';
export type { DeviceEntry, DeviceReport } from './devices.ts';
export { listDevices, open } from './on-node.ts';
export type { OpenOptions } from './open.ts';
export * from './primitives/index.ts';
