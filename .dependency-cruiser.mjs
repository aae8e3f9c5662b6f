// Rules that say which file may import which. `npm run check` fails if a rule is broken. Imports of types count like
// imports of values, because a reader has to follow both. ARCHITECTURE.md has a diagram of the floors (layers).

import { builtinModules } from 'node:module';

/** Path patterns of those floors (layers) whose name differs from the name of their folder. */
const PLACES = {
  root: '^[^/]+\\.ts$',
  // Starts worker threads from their TypeScript source when the package runs unbuilt.
  'start-unbuilt.mjs': '^start-unbuilt\\.mjs$',
};

/**
 * For each floor (layer), the other floors from which it may import. The floors are listed from the bottom up. The top
 * floors, `examples` and `property-tests`, have no entry because they may import everything.
 */
const FLOORS = {
  primitives: [],
  'backends/analyses': ['primitives'],
  'backends/common': ['primitives'],
  'backends/reference': ['primitives', 'backends/analyses', 'backends/common'],
  'backends/workers': ['primitives', 'backends/analyses', 'backends/common', 'start-unbuilt.mjs'],
  'backends/webgpu': ['primitives', 'backends/analyses', 'backends/common'],
  'backends/webgpu-node': ['primitives'],
  'backends/failover': ['primitives', 'backends/analyses', 'backends/common'],
  // A command whose data exceeds device memory runs on the host, with the JavaScript of the reference backend.
  'backends/spilling': ['primitives', 'backends/analyses', 'backends/common', 'backends/reference'],
  graph: ['primitives'],
  algorithms: ['primitives', 'graph'],
  queues: ['primitives', 'graph', 'start-unbuilt.mjs'],
  root: ['primitives', 'backends'],
  formats: ['primitives', 'graph', 'algorithms', 'start-unbuilt.mjs'],
  // `bench` imports `examples/web` because one benchmark measures the frame times of that example's page.
  bench: ['primitives', 'backends', 'graph', 'queues', 'algorithms', 'root', 'formats', 'examples/web'],
  cli: ['primitives', 'backends', 'graph', 'queues', 'algorithms', 'root', 'formats', 'bench'],
};

const pathOf = (place) => PLACES[place] ?? `^${place}/`;

const floorRules = Object.entries(FLOORS).map(([floor, below]) => ({
  name: `floor ${floor}`,
  comment:
    'A floor imports only from floors below it, so that it can be read, tested and replaced without the floors above.',
  severity: 'error',
  from: { path: pathOf(floor) },
  to: {
    path: '^(primitives|backends|graph|queues|algorithms|formats|bench|cli|examples|property-tests)/|^[^/]+\\.(ts|mjs)$',
    pathNot: [floor, ...below].map(pathOf),
  },
}));

export default {
  forbidden: [
    ...floorRules,
    {
      name: 'no circle',
      comment: 'In an import cycle, no file can be understood, or loaded, before the others.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'pages need no Node',
      comment: 'A page bundles these folders. `page-entries.test` checks the files of `workers` that pages load.',
      severity: 'error',
      from: {
        path: '^(primitives|graph|algorithms|backends/(analyses|common|reference|webgpu|failover|spilling))/',
      },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'entry points for pages reach no Node',
      comment: 'Whatever a page bundles, types included, gets what it needs of Node from the entry point for Node.',
      severity: 'error',
      from: { path: '^(formats/|backends/workers/)?page\\.ts$' },
      to: { path: `^(node:)?(${builtinModules.join('|')})$`, reachable: true },
    },
    {
      name: 'packed rasters need no Node',
      comment: 'Readers of packed rasters stand on `ByteSource`, whatever the bytes come from.',
      severity: 'error',
      from: { path: '^formats/rasters/packed/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'algorithms give no commands',
      comment: 'Algorithms call primitives. For launches that no primitive makes, they use `rows/row-results.ts`.',
      severity: 'error',
      from: { path: '^algorithms/' },
      to: {
        path: '^primitives/(contract/(backend|kernel-commands|require-backend)|context/watched-backend|prepared/(command|script|play))\\.ts$',
      },
    },
    {
      name: 'programs are not imported',
      comment: 'A program of `bench` measures as soon as it is loaded, so only programs may import from these folders.',
      severity: 'error',
      from: { path: '^(cli|examples)/|^bench/(calls|experiments|harness|peers|shared|tune)/' },
      to: {
        path: '^bench/',
        pathNot: '^bench/(index\\.ts|(experiments|harness|peers|shared|tune|calls)/|programs/(?!(run|steps)\\.ts))',
      },
    },
    {
      name: 'the IR stands alone',
      comment:
        'Backends, analyses and tests read functors through the IR, so it must not depend on how functors are recorded.',
      severity: 'error',
      from: { path: '^primitives/ir/' },
      to: { pathNot: '^primitives/(ir/|host/cache\\.ts$)' },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: ['node_modules'] },
    exclude: { path: '^(dist|docs/site|\\.device)/' },
  },
};
