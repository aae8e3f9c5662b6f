import type { GpuAdapterInfo } from '../../../primitives/contract/gpu-types.ts';

/** The display name of an adapter. Browsers reveal some of these fields and leave others empty. */
export function adapterName({ device, description, vendor, architecture }: GpuAdapterInfo): string {
  return device || description || [vendor, architecture].filter((part) => part !== '').join(' ') || 'unnamed';
}
