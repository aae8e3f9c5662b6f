// What `quadrille` is on a page: as index.ts, but that nothing of Node can be reached from here.

export { deviceDescriptor } from './backends/webgpu/device/device-descriptor.ts';
export type { DeviceEntry, DeviceReport } from './devices.ts';
export { listDevices, open } from './on-page.ts';
export type { OpenOptions } from './open.ts';
export * from './primitives/index.ts';
