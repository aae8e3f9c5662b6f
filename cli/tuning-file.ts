import type { TuningChoice } from '../backends/webgpu/index.ts';
import { requireTuning } from '../backends/webgpu/tuning-check.ts';
import { readTextFile } from '../formats/json-file.ts';
import { UsageError } from '../formats/usage-error.ts';
import { ArgumentError } from '../primitives/errors.ts';

/**
 * Reads a tuning: the members alone, or an entry as `quadrille tune` writes it.
 *
 * @throws UsageError `usage/tuning` for a file that is none; FormatError where it cannot be read.
 */
export async function readTuning(file: string): Promise<TuningChoice> {
  const text = await readTextFile(file);
  try {
    const data = JSON.parse(text) as { readonly tuning?: unknown };
    return requireTuning(data.tuning ?? data);
  } catch (cause) {
    if (!(cause instanceof ArgumentError) && !(cause instanceof SyntaxError)) throw cause;
    const reason = cause instanceof ArgumentError ? cause.message : `The file is no JSON: ${cause.message}.`;
    throw new UsageError('usage/tuning', reason, { place: { file }, cause });
  }
}
