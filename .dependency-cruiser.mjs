// Which file may import which. `npm run check` fails where a rule is broken; types count as much as values do, because a
// reader follows both. ARCHITECTURE.md draws the floors.

/** Places that are not just a folder of that name. */
const PLACES = {
  'backends/*.ts': '^backends/[^/]+\\.ts$',
  root: '^[^/]+\\.ts$',
  // Starts threads from TypeScript in a clone.
  'start-unbuilt.mjs': '^start-unbuilt\\.mjs$',
};

/** What each floor may import beside itself, from the bottom up. `examples` and `property-tests`, at the top, may import all. */
const FLOORS = {
  primitives: [],
  'backends/*.ts': ['primitives'],
  'backends/reference': ['primitives', 'backends/*.ts'],
  'backends/workers': ['primitives', 'backends/*.ts', 'start-unbuilt.mjs'],
  'backends/webgpu': ['primitives', 'backends/*.ts'],
  'backends/webgpu-node': ['primitives'],
  'backends/failover': ['primitives', 'backends/*.ts'],
  // What does not fit on the device is evaluated on the host, in the reference backend's JavaScript.
  'backends/spilling': ['primitives', 'backends/*.ts', 'backends/reference'],
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
        path: '^(primitives|graph|algorithms|backends/(reference|webgpu|failover|spilling))/|^backends/[^/]+\\.ts$',
      },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'algorithms give no commands',
      comment: 'Algorithms are chains of primitives. What no primitive does in one launch, `row-results.ts` does.',
      severity: 'error',
      from: { path: '^algorithms/' },
      to: {
        path: '^primitives/(backend|kernel-commands|command|watched-backend|require-backend|prepared/(script|play))\\.ts$',
      },
    },
    {
      name: 'programs are not imported',
      comment:
        'A file at the top of `bench` measures as soon as it is loaded. Commands load `harness`, `experiments`, `tune`.',
      severity: 'error',
      from: { path: '^cli/' },
      to: { path: '^bench/[^/]+\\.ts$', pathNot: '^bench/index\\.ts$' },
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
