import { type Kind, where } from '../../../primitives/checks/kinds.ts';

/** Validator of an option that must be a WebGPU device. Accepts the devices of every WebGPU implementation. */
export const aDevice: Kind = where('a GPUDevice', isDevice, {
  code: 'open/device',
  remedy: 'Pass the result of await adapter.requestDevice(deviceDescriptor(adapter)).',
});

function isDevice(given: unknown): boolean {
  const { createBuffer, pushErrorScope, limits, queue } = (given ?? {}) as Partial<GPUDevice>;
  return (
    typeof createBuffer === 'function' &&
    typeof pushErrorScope === 'function' &&
    typeof limits === 'object' &&
    typeof queue === 'object'
  );
}
