import type { StagedOutputs } from '../formats/bytes/atomic-write.ts';
import type { QuadrantPlotOptions } from '../formats/charts/quadrant-plot.ts';
import type { MaqFile } from '../formats/results/maq-file.ts';
import type { PlotOutput, PlotRequest } from './index-arguments.ts';
import type { Surroundings } from './run-support.ts';
import { writeToStdout } from './standard-output.ts';

/** A drawing, and a remark on it. */
export interface DrawnTree {
  readonly content: string | Uint8Array;
  /** A sentence about the simplification of the drawing; undefined if the drawing is exact. */
  readonly remark: string | undefined;
}

/** The function that draws a tree. Tests pass a replacement. */
export interface DrawParts {
  drawTree(file: MaqFile, format: PlotOutput['format'], options: QuadrantPlotOptions): Promise<DrawnTree>;
}

/** Draws a tree, and writes all drawings that the command line requests. */
export async function drawTo(
  { plots, plotWindow: window }: PlotRequest,
  file: MaqFile,
  { drawTree }: DrawParts,
  outputs: StagedOutputs,
  surroundings: Surroundings,
): Promise<void> {
  for (const { path, format } of plots) {
    surroundings.signal.throwIfAborted();
    const { content, remark } = await drawTree(file, format, { window });
    if (remark !== undefined) surroundings.log.note({ code: 'index/drawn-coarser', message: `${path}: ${remark}` });
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    await writeBytes(path, bytes, outputs, surroundings);
  }
}

/** Number of bytes to write at once. An interruption takes effect between two writes. */
const CHUNK_BYTES = 2 ** 24;

/** Writes bytes to a staged output file, or to stdout if the path is `-`. */
export async function writeBytes(
  path: string,
  bytes: Uint8Array,
  outputs: StagedOutputs,
  { stdout, signal }: Surroundings,
): Promise<void> {
  const chunks = function* (): Generator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
  };
  if (path === '-') await writeToStdout(stdout, chunks(), signal);
  else await outputs.write(path, chunks(), signal);
}
