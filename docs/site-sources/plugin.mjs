// Conventions for typedoc: Markdown pages are named by their headings and grouped by their folders, entry points are
// named as users import them, and every primitive belongs to a family.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import {
  Comment,
  CommentTag,
  Converter,
  DocumentReflection,
  PageEvent,
  ReflectionKind,
  StructureRouter,
} from 'typedoc';

const root = join(import.meta.dirname, '..', '..');

/**
 * Links that are replaced by links to the live page. One is a placeholder in the navigation. The other leads to the
 * copy of the live page's source, which typedoc makes if a page links to the source.
 */
const LIVE = /https:\/\/live\.invalid\/|(\.\.\/)*media\/index\.html/g;

/** The groups of pages. A key is the start of the path of a page's file. The first match counts. */
const GROUPS = {
  'examples/': 'Examples',
  'docs/guide/': 'Guide',
  'docs/decisions/': 'Decisions',
  'bench/results/': 'Measurements',
  'docs/': 'Guide',
  'ARCHITECTURE.md': 'Contributing',
  'CONTRIBUTING.md': 'Contributing',
};

const GUIDES = [
  'your-first-pipeline',
  'in-a-browser',
  'other-devices',
  'from-a-loop-to-a-pipeline',
  'grids',
  'prepared-pipelines',
  'transfers',
  'more-than-memory',
  'faults',
  'graphs',
  'more-than-one-machine',
  'areas-of-pairs',
  'quadtrees',
  'zonal-statistics',
  'large-rasters',
  'compare-segmentations',
  'cell-tracking',
  'tables',
  'neighbours',
  'benchmarks',
].map((name) => `docs/guide/${name}.md`);

/**
 * The families of exports. Each key lists files (without `.ts`) and folders (with `/`) whose exports belong to the
 * family. Paths are relative to `primitives/`, or to the root for files outside `primitives/`. The first match counts.
 */
const FAMILIES = {
  'context/shared-buffers contract/gpu-types backends/webgpu/device/device-descriptor': 'Devices of your own',
  'context/explain': 'What the library does',
  'open on-node on-page devices context/ checks/warnings': 'Contexts',
  'contract/ prepared/command': 'For backends of one’s own',
  'prepared/': 'Prepared pipelines and loops',
  'columns/': 'Columns',
  'sequence map stencil grid transpose window-sum relax for-each-strip': 'Rows to rows',
  'gather scatter scatter-reduce slice concatenate pack-bits narrow pack': 'Rows to rows',
  'rows/segments segmented-reduce segmented-quantiles': 'Groups and histograms',
  'copy-if expand expand-search unfold walk-functors rows/': 'More rows or fewer',
  'reduce count extremum scan tile-sums decode-tiles adjacent-difference cross-reduce': 'Folds and scans',
  'reduce-by-key runs disjoint-sets histogram rank-histogram weighted-histogram tile-histograms':
    'Groups and histograms',
  'random shuffle sample-weighted': 'Random numbers',
  'sort segmented-sort merge sets search select-kth top-k': 'Order',
  monoid: 'Monoids',
  'functors/standard/': 'Standard functors',
  'functors/ ir/': 'Functors',
  'checks/errors': 'Errors',
};

/** @param {import('typedoc').Application} app */
export function load(app) {
  app.converter.on(Converter.EVENT_BEGIN, ({ project }) => addExamples(project));
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_, page) => nameAndGroup(page));
  app.renderer.defineRouter('files', FileRouter);
  app.renderer.on(PageEvent.END, linkToLivePage);
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.getChildrenByKind(ReflectionKind.Module)) {
      const path = module.name;
      module.name = path === 'index' ? 'quadrille' : `quadrille/${path}`;
      if (path === 'index' || path === 'primitives') {
        for (const child of module.children ?? []) addFamily(app, project, child);
      }
    }
  });
  app.converter.on(
    Converter.EVENT_RESOLVE_END,
    ({ project }) => {
      orderPages(project);
      leaveOutTitle(project);
    },
    -1000,
  );
}

function linkToLivePage(page) {
  const up = '../'.repeat(page.url.split('/').length - 1);
  page.contents = page.contents.replaceAll(LIVE, `${up}live/index.html`);
}

/** The path of a page's file, relative to the root of the repository. */
function pathOf(page) {
  return relative(root, page.project.files.getReflectionPath(page)).replaceAll('\\', '/');
}

/** Names the HTML files of pages after their sources: `docs/guide/graphs.md` becomes `guide/graphs.html`. */
class FileRouter extends StructureRouter {
  getIdealBaseName(reflection) {
    if (!reflection.isDocument()) return super.getIdealBaseName(reflection);
    return pathOf(reflection)
      .replace(/^docs\//, '')
      .replace(/\.md$/, '');
  }
}

/** Adds the example programs as pages, because Markdown pages may link to these programs. */
function addExamples(project) {
  for (const folder of ['examples', 'examples/web']) {
    for (const name of readdirSync(join(root, folder)).filter((name) => /\.(ts|mjs|js)$/.test(name))) {
      const file = join(root, folder, name);
      const code = `\`\`\`ts\n${readFileSync(file, 'utf8')}\`\`\``;
      const content = [
        { kind: 'text', text: `# ${name}\n\n` },
        { kind: 'code', text: code },
      ];
      const title = relative('examples', join(folder, name)).replaceAll('\\', '/');
      const page = new DocumentReflection(title, project, content, { group: 'Examples' });
      project.addChild(page);
      project.registerReflection(page, undefined, file.replaceAll('\\', '/'));
    }
  }
}

/** Names a page by its heading, and groups it by its path. */
function nameAndGroup(page) {
  const path = pathOf(page);
  const [heading] = readFileSync(join(root, path), 'utf8').split('\n');
  page.name = heading.replace('# ', '').replaceAll('`', '');
  const [, group] = Object.entries(GROUPS).find(([start]) => path.startsWith(start));
  page.frontmatter.group = group;
}

/** Sorts guides in reading order, and measurements from the latest to the oldest. */
function orderPages(project) {
  const place = (page) => GUIDES.indexOf(pathOf(page)) + 1 || GUIDES.length + 1;
  // Markdown pages come first, and the sources of the live page last.
  const rank = (page) => Number(!pathOf(page).endsWith('.md')) + Number(pathOf(page).includes('/web/'));
  for (const { title, children } of project.groups) {
    if (title === 'Examples') children.sort((a, b) => rank(a) - rank(b));
    if (title === 'Guide') children.sort((a, b) => place(a) - place(b));
    if (title === 'Measurements') children.sort((a, b) => (pathOf(a) < pathOf(b) ? 1 : -1));
  }
}

/** Removes the front page's title, which typedoc adds itself. */
function leaveOutTitle({ readme: [first] }) {
  first.text = first.text.replace(/^# .+\n+/, '');
}

function addFamily(app, project, reflection) {
  const { fileName } = project.getSymbolIdFromReflection(resolved(reflection)) ?? {};
  const path = relative(join(root, 'primitives'), fileName)
    .replaceAll('\\', '/')
    .replace(/\.ts$/, '')
    .replace('../', '');
  const [, family] =
    Object.entries(FAMILIES).find(([starts]) =>
      starts.split(' ').some((start) => (start.endsWith('/') ? path.startsWith(start) : path === start)),
    ) ?? [];
  if (family === undefined)
    return app.logger.warn(`${reflection.name} of ${path} belongs to no family in ${import.meta.filename}`);
  reflection.comment ??= new Comment();
  reflection.comment.blockTags.push(new CommentTag('@category', [{ kind: 'text', text: family }]));
}

function resolved(reflection) {
  return reflection.isReference() ? (reflection.tryGetTargetReflectionDeep() ?? reflection) : reflection;
}
