/**
 * Characters that an XML 1.0 document may not contain, not even escaped (halves of surrogate pairs included), and
 * other control characters.
 */
const UNPRINTABLE = /(?![\t\n\r])\p{Cc}|[\p{Cs}\uFFFE\uFFFF]/gu;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes `text` for use between tags, or in quotes, in SVG and HTML. */
export function escapeMarkup(text: string): string {
  return text.replaceAll(UNPRINTABLE, '\uFFFD').replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** A count with thousands separators. */
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

/** A duration in the most readable unit. */
export function formatDuration(ms: number): string {
  if (ms >= 100_000) return `${formatCount(ms / 60_000)} min`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return ms >= 1 || ms === 0 ? `${formatCount(ms)} ms` : `${(ms * 1000).toFixed(0)} µs`;
}

/** A coordinate, rounded to a hundredth. */
export function formatPoint(value: number): string {
  return String(Math.round(value * 100) / 100);
}
