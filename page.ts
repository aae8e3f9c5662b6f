// The entry point `quadrille` on a page: same as index.ts, without access to Node.

export { deviceDescriptor } from './backends/webgpu/device/device-descriptor.ts';
export type { DeviceEntry, DeviceReport } from './devices.ts';
export { listDevices, open } from './on-page.ts';
export type { OpenOptions } from './open.ts';
export * from './primitives/index.ts';
