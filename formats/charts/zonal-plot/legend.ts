import { largestOf } from '../../../primitives/host/extremes.ts';
import { type Colors, isScale, meanText } from './colors.ts';
import { HAIRLINE, MUTED, NO_DATA, niceStep, niceTicks, px, text, valueText } from './page.ts';

const RAMP_WIDTH = 300;
const RAMP_HEIGHT = 10;
const BARS_HEIGHT = 30;
const BARS = 60;
const STOPS = 24;
const KEY_WIDTH = 84;
const ONLY_KEY_WIDTH = 112;
/** Fraction of the scale that is reserved at each end for the label of the end. */
const END_ROOM = 0.18;

/**
 * Draws the colour scale. Small bars above the scale show the number of zones per colour. The right end of the scale is
 * at x = 0. If the map shows zones without data, a grey box with a label is added. If all zones have the same colour, a
 * box with a label replaces the scale.
 */
export function drawLegend(means: Float64Array, colors: Colors, showsNoData: boolean): string {
  const top = BARS_HEIGHT + 2;
  const [drawn, left] = isScale(colors) ? [drawScale(means, colors, top), -RAMP_WIDTH] : drawOnlyKey(colors, top);
  return drawn + (showsNoData ? key(left - KEY_WIDTH, top, NO_DATA, 'no data') : '');
}

function drawScale(means: Float64Array, colors: Colors, top: number): string {
  const left = -RAMP_WIDTH;
  return bars(means, colors, left) + ramp(colors, left, top) + ticks(colors, left, top + RAMP_HEIGHT);
}

function drawOnlyKey(colors: Colors, top: number): [svg: string, left: number] {
  if (Number.isNaN(colors.low)) return ['', 0];
  const left = -ONLY_KEY_WIDTH;
  return [key(left, top, colors.colorOf(colors.low), `${colors.name} ${meanText(colors.low, colors)}`), left];
}

function bars(means: Float64Array, { low, high, colorOf }: Colors, left: number): string {
  const counts = new Array<number>(BARS).fill(0);
  for (const mean of means) {
    if (Number.isNaN(mean)) continue;
    const share = Math.min(1, Math.max(0, (mean - low) / (high - low)));
    counts[Math.min(BARS - 1, Math.floor(share * BARS))]! += 1;
  }
  const max = largestOf(counts, 1);
  const width = RAMP_WIDTH / BARS;
  return counts
    .map((count, bar) => {
      if (count === 0) return '';
      const height = Math.max(0.75, (count / max) * BARS_HEIGHT);
      const box = `x="${px(left + bar * width)}" y="${px(BARS_HEIGHT - height)}" width="${px(width - 0.6)}" height="${px(height)}"`;
      return `<rect ${box} fill="${colorOf(low + ((bar + 0.5) / BARS) * (high - low))}"/>`;
    })
    .join('');
}

function ramp({ low, high, colorOf }: Colors, left: number, top: number): string {
  const stops = Array.from({ length: STOPS + 1 }, (_, stop) => {
    const share = stop / STOPS;
    return `<stop offset="${px(share * 100)}%" stop-color="${colorOf(low + share * (high - low))}"/>`;
  });
  return (
    `<defs><linearGradient id="quadrille-ramp">${stops.join('')}</linearGradient></defs>` +
    `<rect x="${left}" y="${top}" width="${RAMP_WIDTH}" height="${RAMP_HEIGHT}" fill="url(#quadrille-ramp)"/>`
  );
}

/**
 * Draws labels at both ends of the scale and at round values between the ends. A label at an end has ≤ or ≥ if there
 * are values beyond the end.
 */
function ticks(colors: Colors, left: number, top: number): string {
  const { low, high, clipsLow, clipsHigh } = colors;
  const step = niceStep((high - low) / 4);
  const label = (x: number, content: string, anchor: 'start' | 'middle' | 'end'): string =>
    text(content, { x, y: top + 15, size: 11, fill: MUTED, anchor });
  const inner = niceTicks(low, high, 4)
    .map((value) => ({ value, share: (value - low) / (high - low) }))
    .filter(({ share }) => share > END_ROOM && share < 1 - END_ROOM)
    .map(({ value, share }) => label(left + share * RAMP_WIDTH, valueText(value, step), 'middle'));
  const ends = [
    label(left, `${clipsLow ? '≤ ' : ''}${valueText(low, step / 10)}`, 'start'),
    label(left + RAMP_WIDTH, `${clipsHigh ? '≥ ' : ''}${valueText(high, step / 10)}`, 'end'),
  ];
  return [...ends, ...inner].join('');
}

function key(x: number, y: number, fill: string, label: string): string {
  const box = `<rect x="${x}" y="${y}" width="14" height="${RAMP_HEIGHT}" fill="${fill}" stroke="${HAIRLINE}"/>`;
  return box + text(label, { x: x + 20, y: y + 9, size: 11, fill: MUTED });
}
