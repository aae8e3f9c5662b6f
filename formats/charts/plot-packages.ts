import { PackageError } from '../../primitives/checks/errors.ts';
import { installRemedy, isMissing } from '../../primitives/host/optional-packages.ts';

/** Optional packages for drawing charts, which users must install themselves. */
export const PLOT_PACKAGES = ['@observablehq/plot', 'linkedom'] as const;

/** The loaded packages for drawing charts. */
export interface Plotting {
  readonly Plot: typeof import('@observablehq/plot');
  /** An empty DOM document, in which the chart's elements are created. */
  readonly document: Document;
}

/**
 * Loads the packages for drawing charts.
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
 * The contents of a chart as an SVG `<g>` element with the given size of letters. The outer `<svg>` element and the style
 * sheet are meant for web pages, and would shift the chart within a larger drawing.
 */
export function chartElement(chart: Element, fontSize: number): string {
  chart.querySelector('style')?.remove();
  return `<g font-size="${fontSize}" text-anchor="middle" fill="currentColor">${chart.innerHTML}</g>`;
}

/**
 * Throws if the packages for drawing charts are not installed, without loading them. Commands call this function before
 * they start to work.
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
