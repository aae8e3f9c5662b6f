/**
 * Characters to be replaced: control characters, and characters that an XML 1.0 document must not contain even if
 * escaped, such as halves of surrogate pairs.
 */
const UNPRINTABLE = /(?![\t\n\r])\p{Cc}|[\p{Cs}\uFFFE\uFFFF]/gu;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes `text` for SVG and HTML, between tags or in a quoted attribute. */
export function escapeMarkup(text: string): string {
  return text.replaceAll(UNPRINTABLE, '\uFFFD').replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** A number with thousands separators. */
export function formatCount(count: number): string {
  return Number.isFinite(count) ? count.toLocaleString('en-US', { maximumFractionDigits: 1 }) : '∞';
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < units.length - 1 && Number.isFinite(value)) {
    value /= 1024;
    unit++;
  }
  return `${formatCount(value)} ${units[unit]}`;
}

/** A duration with a unit that suits its length. */
export function formatDuration(ms: number): string {
  if (ms >= 100_000) return `${formatCount(ms / 60_000)} min`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return ms >= 1 || ms === 0 ? `${formatCount(ms)} ms` : `${(ms * 1000).toFixed(0)} µs`;
}

/** A coordinate rounded to two decimals, as text. */
export function formatPoint(value: number): string {
  return String(Math.round(value * 100) / 100);
}
