import type { Counters } from '../../../primitives/contract/backend.ts';
import { cached, createCache } from '../../../primitives/host/cache.ts';
import type { BufferPart } from '../memory/part.ts';
import type { DispatchRecorder, SlotPlace } from './recorder.ts';

/** A compiled kernel and the layout of its storage buffers. */
export interface Kernel {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  readonly layoutKey: string;
}

/** Creates and caches pipelines, layouts and bind groups. */
export interface Compiler {
  /**
   * The kernel for a key. If the key is new, the kernel is compiled from the WGSL that `code` returns. `access` has one
   * letter per storage buffer: r (read only) or w (read and write).
   */
  kernel(key: string, access: string, code: () => string): Kernel;
  storageGroup(kernel: Kernel, parts: readonly BufferPart[]): GPUBindGroup;
  /**
   * The bind group for the parameters of a command and of a dispatch. The parameters are selected within their buffers
   * by dynamic offsets.
   */
  parameterGroup(command: SlotPlace, dispatch: SlotPlace): GPUBindGroup;
  /** Drops all bind groups that refer to a GPU buffer. Called before the buffer is destroyed. */
  forget(part: BufferPart): void;
  /** Drops all cached pipelines and bind groups. */
  clear(): void;
}

const COMPUTE = 4;
/** Maximum number of cached pipelines. Applications that repeat their work need far fewer pipelines. */
const MAX_KERNELS = 2048;
/** Maximum number of cached bind groups. Applications that repeat their work need far fewer bind groups. */
const MAX_GROUPS = 8192;

export function createCompiler(
  device: GPUDevice,
  counters: Counters,
  { watched }: Pick<DispatchRecorder, 'watched'>,
): Compiler {
  const kernels = createCache<string, Kernel>({ max: MAX_KERNELS });
  const layouts = new Map<string, GPUBindGroupLayout>();
  const groups = new Map<string, GPUBindGroup>();
  const groupsOfPart = new Map<number, Set<string>>();
  const parameterGroups = new Map<number, GPUBindGroup>();
  const uniform = { type: 'uniform', hasDynamicOffset: true } as const;
  const parameterLayout = device.createBindGroupLayout({
    entries: [0, 1].map((binding) => ({ binding, visibility: COMPUTE, buffer: uniform })),
  });

  const layoutOf = (access: string): GPUBindGroupLayout =>
    cached(layouts, access, () =>
      device.createBindGroupLayout({
        entries: [...access].map((letter, binding) => ({
          binding,
          visibility: COMPUTE,
          buffer: { type: letter === 'r' ? 'read-only-storage' : 'storage' },
        })),
      }),
    );

  const compile = (access: string, code: string): Kernel => {
    counters.compilations++;
    return watched(() => {
      const layout = layoutOf(access);
      const pipeline = device.createComputePipeline({
        layout: device.createPipelineLayout({ bindGroupLayouts: [parameterLayout, layout] }),
        compute: { module: device.createShaderModule({ code }), entryPoint: 'main' },
      });
      return { pipeline, layout, layoutKey: access };
    });
  };

  const remember = (key: string, parts: readonly BufferPart[]): void => {
    if (groups.size >= MAX_GROUPS) {
      groups.clear();
      groupsOfPart.clear();
    }
    for (const { id } of parts) cached(groupsOfPart, id, () => new Set<string>()).add(key);
  };

  return {
    kernel: (key, access, code) => cached(kernels, key, () => compile(access, code())),
    storageGroup({ layout, layoutKey }, parts) {
      const key = `${layoutKey} ${parts.map(({ id }) => id).join()}`;
      return cached(groups, key, () => {
        remember(key, parts);
        counters.bindGroups++;
        const entries = parts.map(({ gpu: buffer, borrowedAt, bytes }, binding) => ({
          binding,
          resource: borrowedAt === undefined ? { buffer } : { buffer, offset: borrowedAt, size: bytes },
        }));
        return watched(() => device.createBindGroup({ layout, entries }));
      });
    },
    parameterGroup(command, dispatch) {
      return cached(parameterGroups, placesKey(command, dispatch), () => {
        counters.bindGroups++;
        const entries = [command, dispatch].map(({ chunk, bytes }, binding) => ({
          binding,
          resource: { buffer: chunk.gpu, size: bytes },
        }));
        return watched(() => device.createBindGroup({ layout: parameterLayout, entries }));
      });
    },
    forget({ id }) {
      for (const key of groupsOfPart.get(id) ?? []) groups.delete(key);
      groupsOfPart.delete(id);
    },
    clear() {
      kernels.clear();
      groups.clear();
      parameterGroups.clear();
      groupsOfPart.clear();
    },
  };
}

/**
 * Returns a number that identifies the chunks (parameter buffers) of two slots and the number of bytes that are bound
 * of each chunk. The number is an exact integer, because the ids of chunks are −1, −2 and so on, and there are at most
 * a few hundred chunks.
 */
function placesKey(command: SlotPlace, dispatch: SlotPlace): number {
  const commandKey = -command.chunk.id * MAX_BYTES + command.bytes;
  return commandKey * 2 ** 26 + -dispatch.chunk.id * 2 ** 12 + dispatch.bytes;
}

/** A power of two above the size of a slot (range of a parameter buffer) in bytes. */
const MAX_BYTES = 2 ** 17;
