import type { GpuAdapterInfo } from '../../../primitives/contract/gpu-types.ts';

/** The display name of an adapter. Browsers fill in some fields of the adapter's info and leave others empty. */
export function adapterName({ device, description, vendor, architecture }: GpuAdapterInfo): string {
  return device || description || [vendor, architecture].filter((part) => part !== '').join(' ') || 'unnamed';
}
