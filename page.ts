// The entry point of `quadrille` for pages. The exports are those of index.ts, but nothing here imports Node modules.

export { deviceDescriptor } from './backends/webgpu/device/device-descriptor.ts';
export type { DeviceEntry, DeviceReport } from './devices.ts';
export { listDevices, open } from './on-page.ts';
export type { OpenOptions } from './open.ts';
export * from './primitives/index.ts';
