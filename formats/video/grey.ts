import type { Grey, VideoChannel } from './video.ts';

/**
 * Layout of interleaved samples. A pixel has `step` samples. `red`, `green` and `blue` are the indices, within the
 * pixel, of the samples of these colours.
 */
export interface PixelOrder {
  readonly step: number;
  readonly red: number;
  readonly green: number;
  readonly blue: number;
}

export const RGB: PixelOrder = { step: 3, red: 0, green: 1, blue: 2 };

/**
 * Luma of Rec. 601 for samples of 8 or 16 bits: (19595 R + 38470 G + 7471 B) / 2^16, rounded. The integer weights
 * approximate 0.299, 0.587 and 0.114. Their sum is 2^16, so grey pixels keep their value. Integer arithmetic gives the
 * same result on every JavaScript engine.
 */
function luma(red: number, green: number, blue: number): number {
  return (19595 * red + 38470 * green + 7471 * blue + 0x8000) >>> 16;
}

/**
 * Copies one channel of `count` pixels. The samples of the pixels begin at index `from` of `samples`; the channel is
 * written to `to`, beginning at index `at`.
 */
export function takeChannel(
  samples: Grey,
  from: number,
  { step, red, green, blue }: PixelOrder,
  channel: VideoChannel,
  to: Grey,
  at: number,
  count: number,
): void {
  if (channel === 'grey') takeLuma(samples, from, { step, red, green, blue }, to, at, count);
  else takeSamples(samples, from + { red, green, blue }[channel], step, to, at, count);
}

function takeLuma(
  samples: Grey,
  from: number,
  { step, red, green, blue }: PixelOrder,
  to: Grey,
  at: number,
  count: number,
): void {
  for (let pixel = 0, next = from; pixel < count; pixel++, next += step) {
    to[at + pixel] = luma(samples[next + red]!, samples[next + green]!, samples[next + blue]!);
  }
}

/** Copies `count` samples, beginning with the sample at index `from` and taking every `step`-th sample. */
export function takeSamples(samples: Grey, from: number, step: number, to: Grey, at: number, count: number): void {
  if (step === 1) to.set(samples.subarray(from, from + count), at);
  else for (let pixel = 0, next = from; pixel < count; pixel++, next += step) to[at + pixel] = samples[next]!;
}

/**
 * Returns a table that maps each palette index to its value in `channel`. Indices that have no colour in the palette
 * are mapped to 0 (black).
 */
export function paletteTable(colours: Uint8Array, order: PixelOrder, channel: VideoChannel): Uint8Array {
  const table = new Uint8Array(256);
  takeChannel(colours, 0, order, channel, table, 0, Math.min(256, Math.floor(colours.length / order.step)));
  return table;
}

/** Whether red, green and blue are equal in all colours of a palette. */
export function isGreyPalette(colours: Uint8Array, { step, red, green, blue }: PixelOrder): boolean {
  for (let at = 0; at + step <= colours.length; at += step) {
    if (colours[at + red] !== colours[at + green] || colours[at + green] !== colours[at + blue]) return false;
  }
  return true;
}
