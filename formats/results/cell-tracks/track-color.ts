import type { Rgb } from '../../charts/rgb.ts';

/**
 * Change of hue from one track to the next, as a fraction of a full turn. This fraction is the golden angle, which
 * keeps the colours of consecutive tracks far apart.
 */
const TURN = 0.381966;
const LIGHTNESSES = [0.62, 0.5, 0.72] as const;
const SATURATION = 0.95;

/**
 * The colour of a track, which is the same in all frames and pictures. Colours are bright, so that they stand out from
 * grey.
 */
export function trackColor(track: number): Rgb {
  const hue = (track * TURN) % 1;
  const lightness = LIGHTNESSES[track % LIGHTNESSES.length]!;
  const chroma = SATURATION * Math.min(lightness, 1 - lightness);
  const part = (offset: number): number => {
    const k = (offset + hue * 12) % 12;
    return Math.round(255 * (lightness - chroma * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return readable([part(0), part(8), part(4)]);
}

/** Minimum brightness of a colour, from 0 to 255. Darker colours do not stand out from grey. */
const MIN_LUMA = 115;

/** Mixes a colour with white until it is bright enough. Pure blue, for example, is too dark. */
function readable(color: Rgb): Rgb {
  const [red, green, blue] = color;
  const luma = 0.299 * red + 0.587 * green + 0.114 * blue;
  const white = Math.max(0, (MIN_LUMA - luma) / (255 - luma));
  return color.map((part) => Math.round(part + white * (255 - part))) as unknown as Rgb;
}
