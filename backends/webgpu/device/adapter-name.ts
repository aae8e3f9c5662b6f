import type { GpuAdapterInfo } from '../../../primitives/contract/gpu-types.ts';

/** What an adapter is called: browsers tell of some of these and leave others empty. */
export function adapterName({ device, description, vendor, architecture }: GpuAdapterInfo): string {
  return device || description || [vendor, architecture].filter((part) => part !== '').join(' ') || 'unnamed';
}
