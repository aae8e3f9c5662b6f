// Which file may import which. `npm run check` fails where a rule is broken; types count as much as values do, because a
// reader follows both. ARCHITECTURE.md draws the floors.

/** Places that are not just a folder of that name. */
const PLACES = {
  root: '^[^/]+\\.ts$',
  // Starts threads from TypeScript in a clone.
  'start-unbuilt.mjs': '^start-unbuilt\\.mjs$',
};

/** What each floor may import beside itself, from the bottom up. `examples` and `property-tests`, at the top, may import all. */
const FLOORS = {
  primitives: [],
  'backends/analyses': ['primitives'],
  'backends/common': ['primitives'],
  'backends/reference': ['primitives', 'backends/analyses', 'backends/common'],
  'backends/workers': ['primitives', 'backends/analyses', 'backends/common', 'start-unbuilt.mjs'],
  'backends/webgpu': ['primitives', 'backends/analyses', 'backends/common'],
  'backends/webgpu-node': ['primitives'],
  'backends/failover': ['primitives', 'backends/analyses', 'backends/common'],
  // What does not fit on the device is evaluated on the host, in the reference backend's JavaScript.
  'backends/spilling': ['primitives', 'backends/analyses', 'backends/common', 'backends/reference'],
  graph: ['primitives'],
  algorithms: ['primitives', 'graph'],
  root: ['primitives', 'backends'],
  formats: ['primitives', 'graph', 'algorithms', 'start-unbuilt.mjs'],
  // One program measures the frames of the example's page.
  bench: ['primitives', 'backends', 'graph', 'algorithms', 'root', 'formats', 'examples/web'],
  cli: ['primitives', 'backends', 'graph', 'algorithms', 'root', 'formats', 'bench'],
};

const pathOf = (place) => PLACES[place] ?? `^${place}/`;

const floorRules = Object.entries(FLOORS).map(([floor, below]) => ({
  name: `floor ${floor}`,
  comment: 'A floor knows those below it only, so that one can read, test and replace it without what stands on it.',
  severity: 'error',
  from: { path: pathOf(floor) },
  to: {
    path: '^(primitives|backends|graph|algorithms|formats|bench|cli|examples|property-tests)/|^[^/]+\\.(ts|mjs)$',
    pathNot: [floor, ...below].map(pathOf),
  },
}));

export default {
  forbidden: [
    ...floorRules,
    {
      name: 'no circle',
      comment: 'Of files in a circle none can be understood, or loaded, before the others.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'pages need no Node',
      comment: 'A page bundles these folders. `page-entries.test` sees to the files of `workers` that pages load.',
      severity: 'error',
      from: {
        path: '^(primitives|graph|algorithms|backends/(analyses|common|reference|webgpu|failover|spilling))/',
      },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'algorithms give no commands',
      comment: 'Algorithms are chains of primitives. What no primitive does in one launch, `row-results.ts` does.',
      severity: 'error',
      from: { path: '^algorithms/' },
      to: {
        path: '^primitives/(contract/(backend|kernel-commands|require-backend)|command|watched-backend|prepared/(script|play))\\.ts$',
      },
    },
    {
      name: 'programs are not imported',
      comment:
        'A program of `bench` measures as soon as it is loaded, so only programs import from folders of programs.',
      severity: 'error',
      from: { path: '^(cli|examples)/|^bench/(calls|experiments|harness|peers|shared|tune)/' },
      to: { path: '^bench/', pathNot: '^bench/(index\\.ts|(experiments|harness|peers|shared|tune|calls)/)' },
    },
    {
      name: 'the IR stands alone',
      comment: 'Backends, analyses and tests read functors through it, however they were recorded.',
      severity: 'error',
      from: { path: '^primitives/ir/' },
      to: { pathNot: '^primitives/(ir/|cache\\.ts$)' },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    // `context-type.ts` is the one place where a circle of types is closed: columns name their context, contexts make columns.
    doNotFollow: { path: ['node_modules', '^primitives/context-type\\.ts$'] },
    exclude: { path: '^(dist|docs/site|\\.device)/' },
  },
};
