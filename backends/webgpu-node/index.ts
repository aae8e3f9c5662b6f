/**
 * WebGPU in Node: the system's adapters, or one on the CPU out of an npm package.
 *
 * @packageDocumentation
 */
export { type NodeAdapter, openNodeGpu, openTestGpu, testAdapter } from './node-gpu.ts';
export { useSoftwareVulkan } from './software-vulkan.ts';
