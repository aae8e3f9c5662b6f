import { createReferenceBackend } from '../../backends/reference/index.ts';
import { fn, u32 } from '../../primitives/index.ts';
import { type Arguments, opaque, type ValidCalls } from './valid-call.ts';

const limits = { 'bindingBytes?': 2 ** 27, 'workgroups?': 100, 'storageBuffers?': 8, 'memoryBytes?': 2 ** 27 };
const module = (): Arguments => ({ module: opaque(fn({ x: u32 }, u32, ({ x }) => x).module) });
const reference = (): object => opaque(createReferenceBackend());
const free = (): void => {};

export const backendCalls: ValidCalls = {
  compileJavaScript: module,
  deviceDescriptor: () => ({
    adapter: opaque({ features: new Set(), limits: {}, requestDevice: async () => free }),
  }),
  createFailoverBackend: () => ({
    primary: reference(),
    options: { standby: () => createReferenceBackend(), 'onFailover?': free, 'onWarning?': free },
  }),
  createReferenceBackend: () => ({ 'options?': { 'limits?': limits } }),
  createSpillingBackend: () => ({ inner: reference(), 'options?': { 'windowRows?': 64, 'hangLimit?': 1000 } }),
  createWorkersBackend: () => ({
    'options?': { 'workers?': 1, 'hangLimit?': 1000, 'workerUrl?': 'page-worker.js' },
  }),
  explainVectorization: module,
  open: () => ({
    'options?': {
      ...{ 'backend?': 'reference', 'adapter?': 'auto', 'workers?': 1, 'limits?': limits, 'spill?': true },
      ...{ 'onFailover?': free, 'hangLimit?': 1000, 'onWarning?': free, 'workerUrl?': 'page-worker.js' },
    },
  }),
  requireTuning: () => ({ data: { 'forEach?': { 'threads?': 64, 'items?': 4 } } }),
};
