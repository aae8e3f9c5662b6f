import { rmSync } from 'node:fs';
import type { DecodedRaster, DecodePackedOptions } from '../formats/rasters/decode-packed-raster.ts';
import { counted, grouped } from './grouped.ts';
import type { DecodeOptions } from './raster-arguments.ts';
import { printFigures, protectInputs, type Surroundings } from './run-support.ts';
import { showProgress } from './shown-progress.ts';

/** The functions of other layers that the command uses. Tests pass replacements. */
export interface DecodeParts {
  decodePackedRaster(input: string, output: string, options: DecodePackedOptions): Promise<DecodedRaster>;
}

/**
 * Runs `quadrille raster decode`: makes a GeoTIFF of a packed raster.
 *
 * @throws Errors of the functions in `parts`; if {@link Surroundings.signal} is aborted, its abort reason.
 */
export async function runRasterDecode(
  { file, out, band, window, json }: DecodeOptions,
  parts: DecodeParts,
  surroundings: Surroundings,
): Promise<void> {
  const started = performance.now();
  const { log, signal, beforeExit } = surroundings;
  await protectInputs([file], [out]);
  const shown = showProgress(log, 'cells', { waits: true });
  try {
    const { width, height, bands, notes } = await parts.decodePackedRaster(file, out, {
      ...{ band, window, signal, onProgress: shown.report },
      onPartial: (path) => beforeExit(() => rmSync(path, { force: true })),
    });
    shown.end();
    for (const note of notes) log.note(note);
    const seconds = (performance.now() - started) / 1000;
    const summary = {
      lines: [
        `${grouped(width)} × ${grouped(height)} cells, ${counted(bands, 'band')}, ${seconds.toFixed(1)} s.`,
        `Wrote ${out}.`,
      ],
      fields: { width, height, bands, seconds, outputs: [out] },
    };
    if (json) await printFigures(summary, surroundings);
    log.summary(summary);
  } finally {
    shown.end();
  }
}
