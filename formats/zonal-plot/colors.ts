import { scale } from '@observablehq/plot';
import { niceStep, valueText } from './page.ts';

/** How values become colours. */
export interface Colors {
  /** Values at the ends of the scale; those beyond take the colour of the end. */
  readonly low: number;
  readonly high: number;
  /** Whether some mean lies below or above the ends. */
  readonly clipsLow: boolean;
  readonly clipsHigh: boolean;
  colorOf(value: number): string;
}

/** A mean in as many digits as tell colours apart. */
export function meanText(mean: number, { low, high }: Colors): string {
  return valueText(mean, niceStep((high - low) / 400));
}

const MANY_ZONES = 50;

/**
 * A colour scale for the means of zones; NaN where a zone has none. Viridis is even to the eye and keeps its order for
 * all common kinds of colour blindness; its palest end is left out, which would vanish on white.
 */
export function chooseColors(means: Float64Array): Colors {
  const sorted = means.filter((mean) => !Number.isNaN(mean)).sort();
  const [low, high] = endsOf(sorted);
  const palette = scale({ color: { type: 'linear', scheme: 'viridis', domain: [0, 1 / 0.94], clamp: true } });
  return {
    low,
    high,
    clipsLow: sorted.length > 0 && sorted[0]! < low,
    clipsHigh: sorted.length > 0 && sorted.at(-1)! > high,
    colorOf: (value) => palette.apply(Math.min(1, Math.max(0, (value - low) / (high - low)))),
  };
}

function endsOf(sorted: Float64Array): [low: number, high: number] {
  if (sorted.length === 0) return [0, 1];
  const trim = sorted.length >= MANY_ZONES ? 0.02 : 0;
  const low = quantile(sorted, trim);
  const high = quantile(sorted, 1 - trim);
  if (low < high) return [low, high];
  const around = Math.abs(low) * 0.01 || 1;
  return [low - around, low + around];
}

function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.round(share * (sorted.length - 1))]!;
}
