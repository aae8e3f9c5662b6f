import { type StagedOutputs, stageOutputs } from '../formats/bytes/atomic-write.ts';
import { type StagedFolder, stageFolder } from '../formats/bytes/staged-folder.ts';
import { requirePlot } from '../formats/charts/plot-packages.ts';
import type { TrackRun } from '../formats/results/cell-tracks/track-summary.ts';
import { Interrupted } from './interrupt.ts';
import { requireApart } from './output-places.ts';
import { filesAmong, finishing, protectInputs, type RunContext, type Surroundings } from './run-support.ts';
import type { TrackOptions } from './track-arguments.ts';
import type { TrackFolders } from './track-outputs.ts';
import { trackSummaryLines } from './track-summary.ts';
import { type TrackParts, trackVideo } from './track-video.ts';

/**
 * Runs `quadrille track`: reads a video, tracks its cells, and writes all outputs. Rows are written frame by frame.
 * Rows on stdout appear immediately. If a run fails, it leaves no output file. If it is interrupted, the results of the
 * completed frames are kept.
 *
 * @throws Errors of `parts`; the reason of {@link Surroundings.signal} if it is aborted.
 */
export async function runTrack<C extends RunContext>(
  options: TrackOptions,
  parts: TrackParts<C>,
  surroundings: Surroundings,
): Promise<void> {
  const started = performance.now();
  if (options.plot !== undefined || options.report !== undefined) requirePlot();
  const staged = await stageAll(options);
  surroundings.beforeExit(staged.discardNow);
  const writer = finishing(staged.files, surroundings);
  try {
    const { outputs, run, running } = await trackVideo(options, parts, surroundings, staged.folders, writer);
    const figures = outputs.figures();
    await outputs.end(run, running);
    await staged.commit();
    // Stdout is written after the files have been committed, so that an error of stdout does not discard the files.
    await outputs.print(run, running);
    const seconds = (performance.now() - started) / 1000;
    surroundings.log.summary(trackSummaryLines(figures, run, { seconds, outputs: staged.paths }));
    const { aborted, reason } = surroundings.signal;
    if (aborted) throw reason instanceof Interrupted ? reason.with(kept(figures.frames, run, staged.paths)) : reason;
  } finally {
    await staged.discard();
  }
}

/** Describes which results of an interrupted run are kept. */
function kept(frames: number, { frameCount }: TrackRun, paths: readonly string[]): string {
  const of = frameCount === undefined ? '' : ` of ${frameCount}`;
  const where = paths.length === 0 ? '' : ` in ${paths.join(', ')}`;
  return `the first ${frames}${of} ${frames === 1 ? 'frame is' : 'frames are'} kept${where}`;
}

/** The output files and folders, which are temporary until they are committed. */
interface Staged {
  readonly files: StagedOutputs;
  readonly folders: TrackFolders;
  /** Paths of the files and folders, as given by the user. */
  readonly paths: readonly string[];
  commit(): Promise<void>;
  discard(): Promise<void>;
  discardNow(): void;
}

async function stageAll(options: TrackOptions): Promise<Staged> {
  const { video, out, plot, report, trace, overlay, ctc } = options;
  const names = filesAmong([out, plot, report, trace]);
  if (video !== '-') await protectInputs([video], names);
  await requireApart({ overlay, ctc }, { out, plot, report, trace });
  const files = await stageOutputs(names);
  const stages: Pick<StagedOutputs, 'commit' | 'discard' | 'discardNow'>[] = [files];
  const discard = async (): Promise<void> => {
    for (const stage of stages) await stage.discard();
  };
  const stage = async (path: string | undefined): Promise<StagedFolder | undefined> => {
    if (path === undefined) return undefined;
    const folder = await stageFolder(path);
    stages.push(folder);
    return folder;
  };
  try {
    return {
      files,
      folders: { overlay: await stage(overlay), ctc: await stage(ctc) },
      paths: [...names, ...[overlay, ctc].filter((path) => path !== undefined)],
      async commit() {
        for (const each of stages) await each.commit();
      },
      discard,
      discardNow() {
        for (const each of stages) each.discardNow();
      },
    };
  } catch (error) {
    await discard();
    throw error;
  }
}
