/**
 * WebGPU's types for public signatures. Each is the program's own type where it has one, from TypeScript's library `dom`
 * (TypeScript 6) or from `@webgpu/types`, so that what is passed in and handed out needs no cast. A program without them
 * gets what is declared here, and compiles.
 *
 * Exported functions, options and results name `Gpu`, `GpuDevice`, `GpuBuffer` and so on. Other code of this folder may
 * name the global types, in modules that no exported declaration imports: property-tests/release/package.test.ts finds
 * those that are.
 */

/** The type of the instances of a global class, or another type in a program without that class. */
type InstanceOf<Class extends string, Otherwise> = typeof globalThis extends {
  readonly [Name in Class]: { readonly prototype: infer Instance };
}
  ? Instance
  : Otherwise;

/** `navigator.gpu`, or what `openNodeGpu()` gives: the program's `GPU`, or {@link GpuLike} where it has no such type. */
export type Gpu = InstanceOf<'GPU', GpuLike>;

/** An adapter of WebGPU: the program's `GPUAdapter`, or {@link GpuAdapterLike}. */
export type GpuAdapter = InstanceOf<'GPUAdapter', GpuAdapterLike>;

/** What an adapter says of itself: the program's `GPUAdapterInfo`, or {@link GpuAdapterInfoLike}. */
export type GpuAdapterInfo = InstanceOf<'GPUAdapterInfo', GpuAdapterInfoLike>;

/** A device of WebGPU: the program's `GPUDevice`, or {@link GpuDeviceLike}. */
export type GpuDevice = InstanceOf<'GPUDevice', GpuDeviceLike>;

/** A buffer of WebGPU: the program's `GPUBuffer`, or {@link GpuBufferLike}. */
export type GpuBuffer = InstanceOf<'GPUBuffer', GpuBufferLike>;

/** What a device is asked for with: the program's `GPUDeviceDescriptor`, or {@link GpuDeviceDescriptorLike}. */
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
  /** Older types of WebGPU do not have it. */
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

/** The names of what an adapter or a device can do, in a program without WebGPU's types. */
export interface GpuFeaturesLike {
  has(name: string): boolean;
}
