import { type Kind, where } from '../../../primitives/kinds.ts';

/** A device of WebGPU, whichever implementation it is of. */
export const aDevice: Kind = where('a GPUDevice', isDevice, {
  code: 'open/device',
  remedy: 'It is what await adapter.requestDevice(deviceDescriptor(adapter)) gives.',
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
