import { stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { isWebAddress } from '../formats/bytes/file-error.ts';
import { expandPatterns } from '../formats/bytes/file-patterns.ts';
import type { EncodedRaster, EncodePackedOptions } from '../formats/rasters/encode-packed-raster.ts';
import { UsageError } from '../formats/usage-error.ts';
import type { Context } from '../primitives/context/context.ts';
import type { BackendOptions } from './arguments.ts';
import { counted } from './grouped.ts';
import { sizeText } from './index-summary.ts';
import type { RunSummary } from './log.ts';
import type { EncodeOptions } from './raster-arguments.ts';
import { closing, openContext, printFigures, protectInputs, type Surroundings, stageRun } from './run-support.ts';
import { showProgress } from './shown-progress.ts';

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface EncodeParts {
  /** Opens what encodes BQ-trees. Not called for other codecs. */
  openContext(options: BackendOptions): Promise<Context>;
  encodeGeoTiff(
    path: string,
    write: (bytes: Uint8Array) => Promise<void>,
    options: EncodePackedOptions,
  ): Promise<EncodedRaster>;
}

/**
 * Runs `quadrille raster encode`: packs rasters one after the other. Either all files are written or none.
 *
 * @throws Errors of the functions in `parts`; if {@link Surroundings.signal} is aborted, its abort reason.
 */
export async function runRasterEncode(
  options: EncodeOptions,
  parts: EncodeParts,
  surroundings: Surroundings,
): Promise<void> {
  const started = performance.now();
  const { log, signal, beforeExit } = surroundings;
  const files = await expandPatterns(options.files, 'FILE');
  const targets = await targetsOf(files, options.out);
  await protectInputs(files, targets);
  const { codec } = options;
  await using opened = codec === 'residuals' ? undefined : closing(await openContext(options, parts.openContext));
  await using outputs = await stageRun([], targets, { beforeExit });
  const encoded: EncodedRaster[] = [];
  for (const [at, file] of files.entries()) {
    const shown = showProgress(log, 'cells', { waits: true });
    try {
      const raster = await parts.encodeGeoTiff(file, (bytes) => outputs.write(targets[at]!, [bytes], signal), {
        ...{ band: options.band, mask: options.mask, tile: options.tile, codec, context: opened?.value },
        ...{ memoryBytes: options.memoryBytes, signal, onProgress: shown.report },
      });
      for (const note of raster.notes) log.note(note);
      encoded.push(raster);
    } finally {
      shown.end();
    }
  }
  signal.throwIfAborted();
  await outputs.commit();
  const summary = summaryOf(encoded, targets, (performance.now() - started) / 1000);
  if (options.json) await printFigures(summary, surroundings);
  log.summary(summary);
}

/** The paths of the packed rasters. */
async function targetsOf(files: readonly string[], out: string): Promise<string[]> {
  const isFolder = await stat(out).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isFolder) return files.map((file) => join(out, `${nameWithin(file)}.qbp`));
  if (files.length === 1 && !/[/\\]$/.test(out)) return [out];
  throw new UsageError(
    'usage/no-folder',
    `--out ${out} is not a folder, which ${files.length === 1 ? '1 file needs' : `${files.length} files need`}.`,
    {
      remedy: 'Make the folder first, or encode one file after the other.',
    },
  );
}

/** The name of a file, or of what an address names, without its ending. */
function nameWithin(file: string): string {
  const path = isWebAddress(file) && URL.canParse(file) ? new URL(file).pathname : file;
  return basename(path, extname(path)) || 'raster';
}

function summaryOf(encoded: readonly EncodedRaster[], outputs: readonly string[], seconds: number): RunSummary {
  const bytes = encoded.reduce((sum, raster) => sum + raster.bytes, 0);
  const cells = encoded.reduce((sum, { width, height, bands }) => sum + width * height * bands, 0);
  const bits = (8 * bytes) / cells;
  const packed = `${sizeText(bytes)}, ${bits.toFixed(2)} bits a cell, ${seconds.toFixed(1)} s`;
  return {
    lines: [
      `${counted(encoded.length, 'raster')}, ${counted(cells, 'cell')}, ${packed}.`,
      `Wrote ${outputs.join(', ')}.`,
    ],
    fields: { rasters: encoded.length, cells, bytes, bitsPerCell: bits, seconds, outputs },
  };
}
