import { type Note, noteTally } from '../algorithms/notes.ts';
import type { Domain } from '../algorithms/quadrants/domain.ts';
import type { PolygonLayer, PolygonLayerOptions } from '../formats/polygons/polygon-layer.ts';
import type { MaqFile } from '../formats/results/maq-file.ts';
import { OutOfMemoryError } from '../primitives/checks/errors.ts';
import type { BackendOptions } from './arguments.ts';
import type { BuildOptions } from './index-arguments.ts';
import type { BuiltTree, TreeJob, TreeRun } from './index-graph.ts';
import {
  CrsTurned,
  commonCrs,
  crsNotes,
  findDomain,
  type LayerSet,
  notesOfSets,
  setsOf,
  settleCrs,
  standardDomain,
} from './index-layers.ts';
import { type DrawParts, drawTo, writeBytes } from './index-outputs.ts';
import { placeNotes } from './index-place.ts';
import { type BuildFacts, buildSummary } from './index-summary.ts';
import type { Log } from './log.ts';
import {
  causeOf,
  filesAmong,
  inScope,
  openContext,
  type RunContext,
  type Surroundings,
  stageRun,
  watchRun,
} from './run-support.ts';
import { isClosed, writeToStdout } from './standard-output.ts';

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface BuildParts<C extends RunContext> extends DrawParts {
  openLayer(file: string, options: PolygonLayerOptions): Promise<PolygonLayer>;
  openContext(options: BackendOptions): Promise<C>;
  buildTree(context: C, job: TreeJob): Promise<TreeRun>;
  encodeTree(file: MaqFile): Promise<ArrayBuffer>;
}

/**
 * Runs `quadrille index build`: reads polygons, decomposes the polygons to quadrants, builds a tree, and writes the
 * tree with all requested drawings. If anything fails, nothing is written.
 *
 * @throws Errors of the functions in `parts`; if {@link Surroundings.signal} is aborted, its abort reason.
 */
export async function runIndexBuild<C extends RunContext>(
  options: BuildOptions,
  parts: BuildParts<C>,
  surroundings: Surroundings,
): Promise<void> {
  const started = performance.now();
  const targets = [options.out, ...options.plots.map(({ path }) => path)];
  const files = filesAmong(targets);
  await using outputs = await stageRun(options.files, files, surroundings);
  const { file, backend, figures } = await build(options, parts, surroundings);
  const bytes = new Uint8Array(await parts.encodeTree(file));
  await writeBytes(options.out, bytes, outputs, surroundings);
  await drawTo(options, file, parts, outputs, surroundings);
  surroundings.signal.throwIfAborted();
  await outputs.commit();
  const facts: BuildFacts = {
    file: options.out,
    backend,
    bytes: bytes.length,
    seconds: (performance.now() - started) / 1000,
    peakBytes: process.resourceUsage().maxRSS * 1024,
    outputs: files,
    ...figures,
  };
  const summary = buildSummary(file, facts);
  // If no other output is written to stdout, the summary is written to stdout. Without `--json`, this summary is just
  // one line, which is left out if stdout is closed.
  if (files.length === targets.length && (options.json || !isClosed(surroundings.stdout))) {
    const told = options.json ? JSON.stringify(summary.fields) : summary.lines[0];
    await writeToStdout(surroundings.stdout, [`${told}\n`], surroundings.signal);
  }
  surroundings.log.summary({ lines: summary.lines.slice(1), fields: summary.fields });
}

interface Built {
  readonly file: MaqFile;
  readonly backend: string;
  readonly figures: BuiltTree['figures'];
}

async function build<C extends RunContext>(
  options: BuildOptions,
  parts: BuildParts<C>,
  surroundings: Surroundings,
): Promise<Built> {
  const { log, signal } = surroundings;
  const layers: PolygonLayer[] = [];
  for (const file of options.files) {
    layers.push(await parts.openLayer(file, { ...options.reading, memoryBytes: options.memoryBytes }));
    signal.throwIfAborted();
  }
  const sets = setsOf(layers);
  for (const note of notesOfSets(sets)) log.note(note);
  await settleCrs(sets, signal);
  const domain = options.domain ?? standardDomain(commonCrs(sets)) ?? (await tellDomain(sets, log, signal));
  await using opened = inScope(await openContext(options, parts.openContext), signal);
  const context = opened.value;
  try {
    signal.throwIfAborted();
    return await buildIn(domain, sets, options, parts, context, surroundings).catch(async (error: unknown) => {
      if (!(causeOf(error) instanceof CrsTurned)) throw error;
      const other = await tellDomain(sets, log, signal);
      return buildIn(other, sets, options, parts, context, surroundings);
    });
  } catch (error) {
    const cause = causeOf(error);
    if (cause instanceof OutOfMemoryError) log.note(MEMORY_NOTE);
    throw cause;
  }
}

const MEMORY_NOTE: Note = {
  code: 'index/less-memory',
  message: 'Fewer --levels, or --no-edges, make the tree smaller.',
};

async function tellDomain(sets: readonly LayerSet[], log: Log, signal: AbortSignal): Promise<Domain> {
  const domain = await findDomain(sets, log, signal);
  const { left, bottom, size } = domain;
  log.note({
    code: 'index/domain-found',
    message: `The domain is the square that holds all polygons: --domain ${left},${bottom},${size}.`,
  });
  return domain;
}

async function buildIn<C extends RunContext>(
  domain: Domain,
  sets: readonly LayerSet[],
  options: BuildOptions,
  parts: BuildParts<C>,
  context: C,
  { log, signal }: Surroundings,
): Promise<Built> {
  const tally = noteTally();
  const { onBadRecord = 'stop', antimeridian } = options.reading;
  const { levels, keepsEdges, memoryBytes, fill } = options;
  const running = await parts.buildTree(context, {
    sets,
    placing: { domain, fill, onBadRecord, tally, comesRound: antimeridian === 'unwrap', remedy: BEYOND_REMEDY },
    isStandard: options.domain === undefined && domain === standardDomain(commonCrs(sets)),
    levels,
    keepsEdges,
    memoryBytes,
    signal,
    progressEvery: log.progressEvery,
  });
  const { tree, names, figures } = await watchRun(running, log, 'bytes', () => {
    const { polygons, quadrants } = running.figures();
    return { polygons, quadrants };
  });
  tellNotes(sets, placeNotes({ tally, fill }), log);
  const crs = commonCrs(sets);
  const named = sets.map(({ name }, set) => ({ name, crs, names: names[set]! }));
  return { file: { domain, levels, sets: named, tree }, backend: context.backend.name, figures };
}

const BEYOND_REMEDY =
  'Choose a domain that holds all polygons with --domain left,bottom,size, or leave such polygons out with ' +
  '--on-bad-record skip.';

function tellNotes(sets: readonly LayerSet[], ofPolygons: readonly Note[], log: Log): void {
  for (const { notes } of sets) for (const note of notes) log.note(note);
  for (const note of crsNotes(sets, commonCrs(sets))) log.note(note);
  for (const note of ofPolygons) log.note(note);
}
