/**
 * WebGPU in Node: opens the system's GPU adapters, or a software adapter from an npm package.
 *
 * @packageDocumentation
 */
export { type NodeAdapter, type NodeGpuOptions, openNodeGpu, openTestGpu, testAdapter } from './node-gpu.ts';
export { useSoftwareVulkan } from './software-vulkan.ts';
