import type { TuningChoice } from '../backends/webgpu/index.ts';
import { requireTuning } from '../backends/webgpu/tuning/tuning-check.ts';
import { fileError } from '../formats/bytes/file-error.ts';
import { readBounded } from '../formats/bytes/read-bounded.ts';
import { decodeJson } from '../formats/result-sets/json-bytes.ts';
import { UsageError } from '../formats/usage-error.ts';
import { ArgumentError } from '../primitives/checks/errors.ts';

const MOST_BYTES = 2 ** 20;

/**
 * Reads a tuning from a JSON file. The file contains either only settings, or an entry written by `quadrille tune`.
 *
 * @throws UsageError `usage/tuning` if the file does not contain a tuning; FormatError if the file cannot be read.
 */
export async function readTuning(file: string): Promise<TuningChoice> {
  const bytes = await readBounded(file, MOST_BYTES).catch((error) => {
    throw fileError(file, error);
  });
  const text = decodeJson(bytes, file);
  try {
    const data = JSON.parse(text) as { readonly tuning?: unknown };
    return requireTuning(data.tuning ?? data);
  } catch (cause) {
    if (!(cause instanceof ArgumentError) && !(cause instanceof SyntaxError)) throw cause;
    const reason = cause instanceof ArgumentError ? cause.message : `The file is not JSON: ${cause.message}.`;
    throw new UsageError('usage/tuning', reason, { place: { file }, cause });
  }
}
