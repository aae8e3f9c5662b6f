/**
 * The WebGPU types in public signatures. Each is the program's own type if it has one, from TypeScript's library `dom`
 * (TypeScript 6) or from `@webgpu/types`, so values pass in and out without casts. In other programs, the types
 * declared here are used.
 *
 * Exported functions, options and results use `Gpu`, `GpuDevice`, `GpuBuffer` and so on. Other code of this folder may
 * use the global types, in modules that no exported declaration imports: property-tests/release/package.test.ts finds
 * violations.
 */

/** The instance type of a global class, or `Otherwise` in a program without that class. */
type InstanceOf<Class extends string, Otherwise> = typeof globalThis extends {
  readonly [Name in Class]: { readonly prototype: infer Instance };
}
  ? Instance
  : Otherwise;

/** `navigator.gpu`, or the result of `openNodeGpu()`: the program's `GPU`, or {@link GpuLike} without such a type. */
export type Gpu = InstanceOf<'GPU', GpuLike>;

/** A WebGPU adapter: the program's `GPUAdapter`, or {@link GpuAdapterLike}. */
export type GpuAdapter = InstanceOf<'GPUAdapter', GpuAdapterLike>;

/** The description of an adapter: the program's `GPUAdapterInfo`, or {@link GpuAdapterInfoLike}. */
export type GpuAdapterInfo = InstanceOf<'GPUAdapterInfo', GpuAdapterInfoLike>;

/** A WebGPU device: the program's `GPUDevice`, or {@link GpuDeviceLike}. */
export type GpuDevice = InstanceOf<'GPUDevice', GpuDeviceLike>;

/** A WebGPU buffer: the program's `GPUBuffer`, or {@link GpuBufferLike}. */
export type GpuBuffer = InstanceOf<'GPUBuffer', GpuBufferLike>;

/** The request for a device: the program's `GPUDeviceDescriptor`, or {@link GpuDeviceDescriptorLike}. */
export type GpuDeviceDescriptor = GpuAdapter extends { requestDevice(descriptor?: infer Descriptor): unknown }
  ? NonNullable<Descriptor>
  : GpuDeviceDescriptorLike;

/** {@link Gpu} in a program without WebGPU's types. */
export interface GpuLike {
  requestAdapter(options?: {
    readonly powerPreference?: 'low-power' | 'high-performance';
    readonly forceFallbackAdapter?: boolean;
  }): Promise<GpuAdapterLike | null>;
}

/** {@link GpuAdapter} in a program without WebGPU's types. */
export interface GpuAdapterLike {
  readonly info: GpuAdapterInfoLike;
  readonly features: GpuFeaturesLike;
  requestDevice(descriptor?: GpuDeviceDescriptorLike): Promise<GpuDeviceLike>;
}

/** {@link GpuDeviceDescriptor} in a program without WebGPU's types. */
export interface GpuDeviceDescriptorLike {
  readonly requiredFeatures?: Iterable<string>;
  readonly requiredLimits?: { readonly [limit: string]: number | undefined };
}

/** {@link GpuAdapterInfo} in a program without WebGPU's types. */
export interface GpuAdapterInfoLike {
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly description: string;
  /** Missing in older WebGPU types. */
  readonly subgroupMinSize?: number | undefined;
  readonly subgroupMaxSize?: number | undefined;
  readonly isFallbackAdapter: boolean;
}

/** {@link GpuDevice} in a program without WebGPU's types. */
export interface GpuDeviceLike {
  readonly features: GpuFeaturesLike;
  readonly lost: Promise<{ readonly reason: string; readonly message: string }>;
  readonly queue: { onSubmittedWorkDone(): Promise<unknown> };
  createBuffer(description: {
    readonly size: number;
    readonly usage: number;
    readonly label?: string;
    readonly mappedAtCreation?: boolean;
  }): GpuBufferLike;
  destroy(): void;
}

/** {@link GpuBuffer} in a program without WebGPU's types. */
export interface GpuBufferLike {
  readonly size: number;
  readonly usage: number;
  mapAsync(mode: number, offset?: number, size?: number): Promise<unknown>;
  getMappedRange(offset?: number, size?: number): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}

/** The feature names of an adapter or a device, in a program without WebGPU's types. */
export interface GpuFeaturesLike {
  has(name: string): boolean;
}
