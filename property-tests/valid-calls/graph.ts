import type { GraphBuilder } from '../../graph/definition/builder.ts';
import * as g from '../../graph/index.ts';
import { type Arguments, methods, opaque, type ValidCall, type ValidCalls } from './valid-call.ts';

const capacity = { items: 2, bytes: 100 };
const counters = {
  ...{ name: 'read', in: 1, out: 1, active: 0, dropped: 0, busy: 1, stalls: 0, depth: 0, bytes: 0, peak: 1 },
  ...{ peakBytes: 0, skipped: 0, retried: 0, migrated: 0 },
};
const node = { name: 'read', kind: 'source', lanes: 1, capacity, runsOn: 'cpu' };
const shape = {
  name: 'copy',
  nodes: [node],
  edges: [{ from: 'read', to: 'read', 'fromPort?': 'a', 'toPort?': 'b', capacity }],
};
const trace = {
  shape,
  ...{ started: 0, ended: 5 },
  spans: [{ node: 'read', lane: 0, item: 0, start: 0, end: 1, runsOn: 'cpu', outcome: 'done' }],
  occupancy: [{ edge: 'read', time: 1, items: 1, bytes: 0 }],
  marks: [{ node: 'read', time: 1, name: 'retry' }],
  counters: [counters],
};
const drawing = (): Arguments => ({ shape, 'options?': { 'counters?': [counters] } });
const observer = { span: () => {}, occupancy: () => {}, mark: () => {} };
const size = (): number => 1;
const free = (): void => {};
const table = { columns: ['a'], rows: [[1]] };
const sections = [{ title: 'Result', 'text?': 'good', 'table?': table, 'svg?': '<svg/>' }];
const migrated = {
  ...{
    gpu: size,
    cpu: size,
    'gpuLanes?': 1,
    'cpuLanes?': 1,
    'gpuRunsOn?': 'cpu',
    'capacity?': 2,
    'sizeOf?': size,
    'ordered?': true,
  },
  ...{ 'overflow?': 'fail', 'onError?': 'stop', 'onFailed?': free, 'discard?': free, 'discardResult?': free },
  ...{ 'observer?': observer, 'now?': size },
};

/** Stands for a port, because ports exist only while a graph is defined. */
const PORT = opaque({ port: 'made for every call' });
const OTHER = opaque({ port: 'made for every call too' });

function isIn(port: object, given: unknown): boolean {
  if (given === port) return true;
  return typeof given === 'object' && given !== null && Object.values(given).some((part) => isIn(port, part));
}

/** A valid call of a method that adds a node to a graph. The outputs of the node go to sinks. */
function method(name: keyof GraphBuilder<unknown>, args: () => Arguments): ValidCall {
  return {
    args,
    takes: { 'options.onError: an object': 'steps, all of them left out' },
    call: (...given: unknown[]) =>
      g.graph('calls', (builder) => {
        const ports = new Map<unknown, unknown>([
          [PORT, builder.source('numbers', [1])],
          [OTHER, builder.source('others', [1])],
        ]);
        const put = (each: unknown): unknown => {
          if (ports.has(each)) return ports.get(each);
          if (Array.isArray(each)) return each.map(put);
          if (typeof each !== 'object' || each === null || Object.getPrototypeOf(each) !== Object.prototype)
            return each;
          return Object.fromEntries(Object.entries(each).map(([key, part]) => [key, put(part)]));
        };
        const made = (builder[name] as (...all: unknown[]) => object)(...given.map(put));
        const rest: unknown[] = [made, ...Object.values(made)].filter(
          (each) => typeof each === 'object' && each !== null && 'isSized' in each,
        );
        for (const port of [PORT, OTHER]) if (!isIn(port, given)) rest.push(ports.get(port));
        const sinks = rest.map((port, at) => builder.sink(`rest ${at}`, port as never, free));
        return 'node' in made && !('isSized' in made) ? (made as never) : sinks[0]!;
      }),
  };
}

const input = { 'capacity?': 2, 'sizeOf?': size, 'discard?': free, 'describe?': String };
const policy = { ...input, 'onError?': 'skip', 'progress?': size };
const sink = { ...policy, 'lanes?': 1, 'runsOn?': 'cpu' };

const ANY_ITEMS = 'anything that can be iterated, or opens such, is a source, of whatever items';
const SOURCES = {
  'source.0': ANY_ITEMS,
  ...Object.fromEntries(
    ['a text', 'a function', 'a functor', 'a Map', 'a typed array'].map((each) => [`source: ${each}`, ANY_ITEMS]),
  ),
};

const nodes: ValidCalls = {
  'GraphBuilder.source': {
    ...method('source', () => ({
      name: 'made',
      source: [1],
      'options?': { 'total?': 1, 'units?': size, 'sizeOf?': size, 'discard?': free, 'describe?': String },
    })),
    takes: SOURCES,
  },
  'GraphBuilder.stage': method('stage', () => ({
    ...{ name: 'made', input: PORT, fn: size },
    'options?': { ...sink, 'ordered?': true, 'elsewhere?': size, 'discardResult?': free },
  })),
  'GraphBuilder.pipe': method('pipe', () => ({ name: 'made', input: PORT, operators: g.stage('inner', size) })),
  'GraphBuilder.batch': method('batch', () => ({
    ...{ name: 'made', input: PORT },
    options: { 'items?': 2, 'bytes?': 100, 'sizeOf?': size, 'weight?': size, 'discard?': free },
  })),
  'GraphBuilder.branch': method('branch', () => ({
    ...{ name: 'made', input: PORT, rules: { odd: () => true, even: () => true } },
    'options?': policy,
  })),
  'GraphBuilder.broadcast': method('broadcast', () => ({
    ...{ name: 'made', input: PORT, ports: ['one', 'two'] },
    'options?': { ...input, 'copy?': (item: unknown) => item },
  })),
  'GraphBuilder.merge': method('merge', () => ({ name: 'made', inputs: [PORT, OTHER], 'options?': input })),
  'GraphBuilder.join': method('join', () => ({
    ...{ name: 'made', inputs: { left: PORT, right: OTHER } },
    options: { key: { left: size, right: size }, 'hold?': 2, 'capacity?': 2, 'onError?': 'skip' },
  })),
  'GraphBuilder.reduce': {
    ...method('reduce', () => ({ name: 'made', input: PORT, fn: size, 'seed?': 0, 'options?': policy })),
    takes: {
      seed: 'a reduction may begin with anything',
      'options.onError: an object': 'steps, all of them left out',
    },
  },
  'GraphBuilder.sink': method('sink', () => ({ name: 'made', input: PORT, fn: free, 'options?': sink })),
  'GraphBuilder.collect': method('collect', () => ({ name: 'made', input: PORT, 'options?': policy })),
};

const channel = new g.Channel({ items: 2 });

export const graphCalls: ValidCalls = {
  ...nodes,
  batchBy: () => ({
    options: { 'items?': 2, 'bytes?': 100, 'sizeOf?': size, 'weight?': size, 'discard?': free, 'name?': 'batches' },
  }),
  chromeTrace: () => ({ trace }),
  drawDot: drawing,
  drawMermaid: drawing,
  drawSvg: drawing,
  inProcessQueue: {
    args: () => ({ options: { modules: opaque({}), 'context?': 1, 'lanes?': 2 } }),
    takes: { 'options.context': 'functions of a graph may have anything as their context' },
  },
  graph: {
    args: () => ({ name: 'copy', define: (b: GraphBuilder<unknown>) => b.sink('to', b.source('from', [1]), free) }),
  },
  'graph.run': {
    args: () => ({
      'ctx?': 3,
      'options?': {
        ...{ 'signal?': new AbortController().signal, 'observer?': observer, 'onError?': 'skip', 'total?': 1 },
        ...{ 'progressEvery?': 100, 'stallAfter?': 100, 'onWarning?': free },
      },
    }),
    call: (...args: unknown[]) => {
      const copy = g.graph('copy', (b) => b.sink('to', b.source('from', [1]), free));
      return (copy.run as (...all: unknown[]) => g.GraphRun<unknown>)(...args).result;
    },
    takes: {
      ctx: 'it is handed to the functions of nodes as it is',
      'options.onError: an object': 'steps, all of them left out',
    },
  },
  migrate: () => ({ name: 'both', options: { ...migrated, 'policy?': { 'margin?': 0.2 }, 'enabled?': true } }),
  migrator: () => ({ 'options?': { 'policy?': { 'margin?': 0.2 }, 'enabled?': true } }),
  'migrator.upstream': {
    args: () => ({ name: 'both', options: migrated }),
    call: (...args: unknown[]) => (g.migrator().upstream as (...all: unknown[]) => unknown)(...args),
  },
  'new Channel': () => ({
    options: {
      ...{ 'items?': 2, 'bytes?': 100, 'sizeOf?': size, 'onDiscard?': free },
      ...{ 'signal?': new AbortController().signal, 'name?': 'tiles' },
    },
  }),
  ...methods('Channel', channel, {
    close: { args: () => ({ error: undefined }), takes: { '*': 'an error may be anything' } },
    push: { args: () => ({ item: 1 }), call: () => {}, takes: { '*': 'an item may be anything' } },
    takeAt: { args: () => ({ position: 0 }), takes: { position: 'where there is no item, there is nothing to take' } },
    tryPush: { args: () => ({ item: 1 }), takes: { '*': 'an item may be anything' } },
  }),
  progress: () => ({ 'options?': { 'total?': 3, 'every?': 100 } }),
  pull: { args: () => ({ source: [1], 'options?': { 'name?': 'numbers', 'discard?': free } }), takes: SOURCES },
  pullMap: {
    takes: SOURCES,
    args: () => ({
      ...{ source: [1], fn: size },
      'options?': { 'lanes?': 1, 'ordered?': true, 'name?': 'same', 'discard?': free, 'discardResult?': free },
    }),
  },
  recordTrace: () => ({ 'options?': { 'limit?': 2, 'now?': size } }),
  reportPage: {
    args: () => ({ page: { title: 'A', told: 'in 5 s', sections } }),
    takes: { 'page.sections.0.table.rows.0.0: a text': 'cells are texts or numbers' },
  },
  runReport: {
    args: () => ({
      trace,
      'options?': {
        'title?': 'A',
        'sections?': sections,
        'edges?': [{ edge: 'read', capacity, stalls: 0, depth: 0, bytes: 0, peak: 1, peakBytes: 0 }],
        'errors?': [opaque(new Error('no'))],
        'dropped?': 1,
      },
    }),
    takes: { 'options.sections.0.table.rows.0.0: a text': 'cells are texts or numbers' },
  },
  stage: () => ({
    ...{ name: 'same', fn: size },
    'options?': {
      ...{ 'lanes?': 1, 'capacity?': 2, 'sizeOf?': size, 'ordered?': true, 'overflow?': 'fail', 'discard?': free },
      ...{ 'discardResult?': free, 'kind?': 'map', 'runsOn?': 'cpu', 'observer?': observer },
    },
  }),
};
