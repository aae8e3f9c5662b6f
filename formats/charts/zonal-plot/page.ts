/** Width of the whole drawing in pixels. `NARROW` is that of drawings with one chart. */
export const WIDTH = 1120;
export const NARROW = 760;
export const MARGIN = 36;

export const INK = '#1b1e24';
export const MUTED = '#5c6470';
export const HAIRLINE = '#d8dce2';
/** Colour of the outline around dark lines, which makes them visible on dark bars. */
export const HALO = '#fff';
/** Colour of zones without data. */
export const NO_DATA = '#e9ebee';

interface TextStyle {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly weight?: number;
  readonly fill?: string;
  readonly anchor?: 'start' | 'middle' | 'end';
}

/** An SVG element with one line of text. */
export function text(content: string, { x, y, size, weight = 400, fill = INK, anchor = 'start' }: TextStyle): string {
  const style = `font-size="${size}" font-weight="${weight}" fill="${fill}" text-anchor="${anchor}"`;
  return `<text x="${px(x)}" y="${px(y)}" ${style}>${escapeXml(content)}</text>`;
}

/** What drawings have at their top, and their size in pixels. */
interface Page {
  readonly title: string;
  /** A line below the title. */
  readonly subtitle: string;
  readonly height: number;
  /** Default {@link NARROW}. */
  readonly width?: number;
  /** Maximum number of characters of the title that are shown. Default 56. */
  readonly longest?: number;
}

/** A standalone SVG with a title above the given elements. */
export function svgPage(
  { title, subtitle, height, width = NARROW, longest = 56 }: Page,
  parts: readonly string[],
): string {
  const [y, size] = width === NARROW ? [42, 20] : [46, 22];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
      `font-family="system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif" style="background: #fff">`,
    `<title>${escapeXml(title)}</title>`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    text(shorten(title, longest), { x: MARGIN, y, size, weight: 600 }),
    text(subtitle, { x: MARGIN, y: y + 24, size: 13, fill: MUTED }),
    ...parts,
    '</svg>\n',
  ].join('\n');
}

/** A standalone SVG with one chart, whose top is `top` pixels below that of the drawing. */
export function chartPage(title: string, subtitle: string, chart: string, top: number, chartHeight: number): string {
  return svgPage({ title, subtitle, height: top + chartHeight + MARGIN }, [placed(chart, MARGIN, top)]);
}

/** Moves SVG elements to a position. */
export function placed(svg: string, x: number, y: number): string {
  return `<g transform="translate(${px(x)}, ${px(y)})">${svg}</g>`;
}

/** Escapes text for XML. Characters that XML does not allow are replaced by U+FFFD. */
export function escapeXml(content: string): string {
  return printable(content)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/**
 * Replaces runs of white space by single spaces. Control characters and unpaired surrogates, which an SVG cannot
 * display, become U+FFFD.
 */
export function printable(content: string): string {
  return content.replaceAll(/\s+/gu, ' ').replaceAll(/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu, '\uFFFD');
}

/** Shortens a text to `longest` characters. A shortened text ends with an ellipsis. */
export function shorten(content: string, longest: number): string {
  const characters = [...content];
  return characters.length > longest ? `${characters.slice(0, longest - 1).join('')}…` : content;
}

/** Formats a coordinate in pixels, rounded to a hundredth. */
export function px(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** Formats a count with thousands separators. */
export function countText(count: number | bigint): string {
  return count.toLocaleString('en-US');
}

/**
 * Formats a value with as many digits as are needed to distinguish values that differ by `step`. Very large and very
 * small values are rounded to three significant digits.
 */
export function valueText(value: number, step: number): string {
  const magnitude = Math.max(Math.abs(value), step);
  const text =
    magnitude >= 1e7 || magnitude < 1e-4
      ? value.toPrecision(3).replace(/\.?0+(e|$)/, '$1')
      : fixed(value, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
  return text.replaceAll('-', '−');
}

function fixed(value: number, decimals: number): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** Returns about `count` positions of ticks: the multiples of a round step within a range. */
export function niceTicks(low: number, high: number, count: number): number[] {
  const step = niceStep((high - low) / count);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  // Rounding to twelve digits hides floating-point errors, such as in 3 · 0.1.
  return Array.from({ length: last - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}

/** The smallest round number that is at least `rough`. Round numbers are 1, 2 and 5 times a power of ten. */
export function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
}
