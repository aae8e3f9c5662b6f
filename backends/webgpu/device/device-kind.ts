import { type Kind, where } from '../../../primitives/kinds.ts';

/** Validator of options that must be a WebGPU device, of any implementation of WebGPU. */
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
