/** Width of the whole drawing. */
export const WIDTH = 1120;
export const MARGIN = 36;

export const INK = '#1b1e24';
export const MUTED = '#5c6470';
export const HAIRLINE = '#d8dce2';
/** Outline of dark lines, which makes them visible on dark ground. */
export const HALO = '#fff';
/** Fill of zones without data. */
export const NO_DATA = '#e9ebee';

interface TextStyle {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly weight?: number;
  readonly fill?: string;
  readonly anchor?: 'start' | 'middle' | 'end';
}

/** A line of SVG text. */
export function text(content: string, { x, y, size, weight = 400, fill = INK, anchor = 'start' }: TextStyle): string {
  const style = `font-size="${size}" font-weight="${weight}" fill="${fill}" text-anchor="${anchor}"`;
  return `<text x="${px(x)}" y="${px(y)}" ${style}>${escapeXml(content)}</text>`;
}

/** Text escaped for XML. Characters that XML cannot contain become U+FFFD. */
export function escapeXml(content: string): string {
  return printable(content)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Text without line breaks, control characters and broken surrogates, which an SVG cannot show. */
export function printable(content: string): string {
  return content.replaceAll(/\s+/gu, ' ').replaceAll(/[\p{Cc}\p{Cs}\uFFFE\uFFFF]/gu, '\uFFFD');
}

/** Text cut to a number of characters. If it was cut, it ends in an ellipsis. */
export function shorten(content: string, longest: number): string {
  const characters = [...content];
  return characters.length > longest ? `${characters.slice(0, longest - 1).join('')}…` : content;
}

/** A coordinate, to a hundredth of a pixel. */
export function px(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** A count with thousands separators. */
export function countText(count: number | bigint): string {
  return count.toLocaleString('en-US');
}

/** A value with the digits needed to distinguish neighbouring values. */
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

/** Multiples of a round step within a range, about `count` of them. */
export function niceTicks(low: number, high: number, count: number): number[] {
  const step = niceStep((high - low) / count);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  // Twelve digits hide that multiples of 0.1 are not exact.
  return Array.from({ length: last - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}

/** The smallest of 1, 2 and 5 times a power of ten that is not below `rough`. */
export function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
}
