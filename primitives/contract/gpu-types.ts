/**
 * The WebGPU types in public signatures. If the user's program has WebGPU types, from TypeScript's library `dom`
 * (TypeScript 6) or from `@webgpu/types`, the signatures use the types of the program, so values need no casts. In a
 * program without WebGPU types, the signatures use the types declared here.
 *
 * Exported functions, options and results use `Gpu`, `GpuDevice`, `GpuBuffer` and so on. Modules that no exported
 * declaration imports may use the global WebGPU types instead; property-tests/release/package.test.ts finds violations.
 */

/** The instance type of a global class; `Otherwise` in a program that does not declare the class. */
type InstanceOf<Class extends string, Otherwise> = typeof globalThis extends {
  readonly [Name in Class]: { readonly prototype: infer Instance };
}
  ? Instance
  : Otherwise;

/**
 * The type of `navigator.gpu` and of the result of `openNodeGpu()`: `GPU`, or {@link GpuLike} in a program that does
 * not declare `GPU`.
 */
export type Gpu = InstanceOf<'GPU', GpuLike>;

/** A WebGPU adapter: `GPUAdapter`, or {@link GpuAdapterLike} in a program that does not declare `GPUAdapter`. */
export type GpuAdapter = InstanceOf<'GPUAdapter', GpuAdapterLike>;

/**
 * The description of an adapter: `GPUAdapterInfo`, or {@link GpuAdapterInfoLike} in a program that does not declare
 * `GPUAdapterInfo`.
 */
export type GpuAdapterInfo = InstanceOf<'GPUAdapterInfo', GpuAdapterInfoLike>;

/** A WebGPU device: `GPUDevice`, or {@link GpuDeviceLike} in a program that does not declare `GPUDevice`. */
export type GpuDevice = InstanceOf<'GPUDevice', GpuDeviceLike>;

/** A WebGPU buffer: `GPUBuffer`, or {@link GpuBufferLike} in a program that does not declare `GPUBuffer`. */
export type GpuBuffer = InstanceOf<'GPUBuffer', GpuBufferLike>;

/**
 * The request for a device: the parameter of the `requestDevice` method of {@link GpuAdapter}. This is
 * `GPUDeviceDescriptor`, or {@link GpuDeviceDescriptorLike} in a program without WebGPU types.
 */
export type GpuDeviceDescriptor = GpuAdapter extends { requestDevice(descriptor?: infer Descriptor): unknown }
  ? NonNullable<Descriptor>
  : GpuDeviceDescriptorLike;

/** Stands for `GPU` in a program without WebGPU types; see {@link Gpu}. */
export interface GpuLike {
  requestAdapter(options?: {
    readonly powerPreference?: 'low-power' | 'high-performance';
    readonly forceFallbackAdapter?: boolean;
  }): Promise<GpuAdapterLike | null>;
}

/** Stands for `GPUAdapter` in a program without WebGPU types; see {@link GpuAdapter}. */
export interface GpuAdapterLike {
  readonly info: GpuAdapterInfoLike;
  readonly features: GpuFeaturesLike;
  requestDevice(descriptor?: GpuDeviceDescriptorLike): Promise<GpuDeviceLike>;
}

/** Stands for `GPUDeviceDescriptor` in a program without WebGPU types; see {@link GpuDeviceDescriptor}. */
export interface GpuDeviceDescriptorLike {
  readonly requiredFeatures?: Iterable<string>;
  readonly requiredLimits?: { readonly [limit: string]: number | undefined };
}

/** Stands for `GPUAdapterInfo` in a program without WebGPU types; see {@link GpuAdapterInfo}. */
export interface GpuAdapterInfoLike {
  readonly vendor: string;
  readonly architecture: string;
  readonly device: string;
  readonly description: string;
  /** Optional, because older versions of the WebGPU types lack this property. */
  readonly subgroupMinSize?: number | undefined;
  readonly subgroupMaxSize?: number | undefined;
  readonly isFallbackAdapter: boolean;
}

/** Stands for `GPUDevice` in a program without WebGPU types; see {@link GpuDevice}. */
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

/** Stands for `GPUBuffer` in a program without WebGPU types; see {@link GpuBuffer}. */
export interface GpuBufferLike {
  readonly size: number;
  readonly usage: number;
  mapAsync(mode: number, offset?: number, size?: number): Promise<unknown>;
  getMappedRange(offset?: number, size?: number): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}

/** The set of feature names of an adapter or device, in a program without WebGPU types. */
export interface GpuFeaturesLike {
  has(name: string): boolean;
}
