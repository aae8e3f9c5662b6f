import { createFailoverBackend } from '../../backends/failover/index.ts';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { createSpillingBackend } from '../../backends/spilling/index.ts';
import { createWebGpuBackend } from '../../backends/webgpu/index.ts';
import { openNodeGpu } from '../../backends/webgpu-node/index.ts';
import { createWorkersBackend } from '../../backends/workers/index.ts';
import { arrow, p, promise, type Row, refuses } from './misuse-support.ts';

const reference = (): unknown => createReferenceBackend();
const open = p.open!;
const rows: readonly Row[] = [
  ['open, null', () => open(null), 'options/none', 'options'],
  ['open, a text', () => open('workers'), 'options/none', 'options'],
  ['open, a promise', () => open(promise), 'argument/promise', 'options'],
  ['open, an unknown option', () => open({ threads: 2 }), 'open/option', 'threads'],
  ['open, no backend', () => open({ backend: 'cuda' }), 'open/backend', 'backend'],
  ['open, a number for the backend', () => open({ backend: 7 }), 'open/backend', 'backend'],
  ['open, no adapter', () => open({ adapter: 'fast' }), 'open/adapter', 'adapter'],
  ['open, an adapter of workers', () => open({ backend: 'workers', adapter: 'software' }), 'open/adapter', 'workers'],
  [
    'open, an adapter of the reference',
    () => open({ backend: 'reference', adapter: 'hardware' }),
    'open/adapter',
    'reference',
  ],
  [
    'open, a text for a limit',
    () => open({ backend: 'reference', limits: { memoryBytes: '5' } }),
    'open/limits',
    'memoryBytes',
  ],
  [
    'open, NaN for a limit',
    () => open({ backend: 'reference', limits: { workgroups: Number.NaN } }),
    'open/limits',
    'workgroups',
  ],
  ['open, an unknown limit', () => open({ backend: 'reference', limits: { memory: 5 } }), 'open/option', 'memory'],
  ['open, a hang limit below 0', () => open({ backend: 'reference', hangLimit: -1 }), 'device/hang-limit', 'hangLimit'],
  [
    'open, a text for a hang limit',
    () => open({ backend: 'reference', hangLimit: '5' }),
    'device/hang-limit',
    'hangLimit',
  ],
  ['open, a number for onFailover', () => open({ backend: 'reference', onFailover: 5 }), 'options/value', 'onFailover'],
  ['open, no failover', () => open({ backend: 'reference', failover: 'cloud' }), 'open/failover', 'failover'],
  ['open, a text for spill', () => open({ backend: 'reference', spill: 'no' }), 'options/value', 'spill'],
  ['open, a number for the tuning', () => open({ backend: 'reference', tuning: 7 }), 'options/value', 'tuning'],
  ['open, half a worker', () => open({ backend: 'workers', workers: 0.5 }), 'workers/number', 'workers'],
  ['open, a text for the workers', () => open({ backend: 'workers', workers: '2' }), 'workers/number', 'workers'],
  [
    'reference, a text for a limit',
    () => createReferenceBackend({ limits: { memoryBytes: '5' as never } }),
    'open/limits',
    'memoryBytes',
  ],
  ['reference, an unknown option', () => createReferenceBackend({ limit: {} } as never), 'options/unknown', 'limit'],
  ['reference, null', () => createReferenceBackend(null as never), 'options/none', 'options'],
  [
    'workers, a text for a limit',
    () => createWorkersBackend({ limits: { memoryBytes: '5' as never } }),
    'open/limits',
    'memoryBytes',
  ],
  ['workers, a hang limit of 0', () => createWorkersBackend({ hangLimit: 0 }), 'device/hang-limit', 'hangLimit'],
  ['workers, no workers', () => createWorkersBackend({ workers: 0 }), 'workers/number', 'workers'],
  ['workers, an unknown option', () => createWorkersBackend({ threads: 2 } as never), 'options/unknown', 'threads'],
  [
    'webgpu, a text for a limit',
    () => createWebGpuBackend({ limits: { memoryBytes: '5' as never } }),
    'open/limits',
    'memoryBytes',
  ],
  ['webgpu, no adapter', () => createWebGpuBackend({ adapter: 'fast' as never }), 'argument/type', 'adapter'],
  ['openNodeGpu, no adapter', () => openNodeGpu('fast' as never), 'argument/type', 'adapter'],
  ['openNodeGpu, a number as name', () => openNodeGpu('auto', { name: 0 as never }), 'options/value', 'name'],
  ['webgpu, a hang limit below 0', () => createWebGpuBackend({ hangLimit: -1 }), 'device/hang-limit', 'hangLimit'],
  ['spilling, nothing', () => createSpillingBackend(undefined as never), 'argument/type', 'inner'],
  [
    'spilling, a promise',
    () => createSpillingBackend(createWorkersBackend({ workers: 0 }).catch(reference) as never),
    'argument/promise',
    'inner',
  ],
  [
    'spilling, a text for rows',
    () => createSpillingBackend(reference() as never, { windowRows: '5' as never }),
    'options/value',
    'windowRows',
  ],
  ['failover, nothing', () => createFailoverBackend(undefined as never, {} as never), 'argument/type', 'primary'],
  ['failover, no standby', () => createFailoverBackend(reference() as never, {} as never), 'argument/type', 'standby'],
  [
    'failover, no options',
    () => createFailoverBackend(reference() as never, undefined as never),
    'argument/type',
    'options',
  ],
  [
    'failover, a number for onFailover',
    () => createFailoverBackend(reference() as never, { standby: arrow as never, onFailover: 5 as never }),
    'options/value',
    'onFailover',
  ],
];

refuses(rows);
