import { PackageError } from '../primitives/errors.ts';
import { installRemedy, isMissing } from '../primitives/optional-packages.ts';

/** What charts are drawn by, installed by who wants them. */
export const PLOT_PACKAGES = ['@observablehq/plot', 'linkedom'] as const;

/** What charts are drawn with. */
export interface Plotting {
  readonly Plot: typeof import('@observablehq/plot');
  /** A document of no page, in which marks are made. */
  readonly document: Document;
}

/**
 * Loads what charts are drawn with.
 *
 * @throws PackageError `package/missing`.
 */
export async function loadPlot(): Promise<Plotting> {
  try {
    const [Plot, { parseHTML }] = await Promise.all([import('@observablehq/plot'), import('linkedom')]);
    const { document } = parseHTML('<!doctype html><html><body></body></html>');
    return { Plot, document: document as unknown as Document };
  } catch (cause) {
    throw isMissing(PLOT_PACKAGES, cause) ? missing(cause) : cause;
  }
}

/**
 * Finds out whether charts can be drawn, without loading anything: a command that draws in the end asks before it works.
 *
 * @throws PackageError `package/missing`.
 */
export function requirePlot(): void {
  try {
    for (const name of PLOT_PACKAGES) import.meta.resolve(name);
  } catch (cause) {
    throw missing(cause);
  }
}

function missing(cause: unknown): PackageError {
  return new PackageError('package/missing', 'Charts are drawn by packages that are not installed here.', {
    remedy: installRemedy(PLOT_PACKAGES),
    cause,
  });
}
