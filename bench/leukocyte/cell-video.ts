import { closeSync, openSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { programOptions } from '../shared/program-options.ts';
import { writeAvi } from './avi-writer.ts';
import { cellMotion, type MovingCell } from './cell-motion.ts';
import { type Random, randomOf } from './random.ts';

/**
 * Options for drawing a video. The first four are required. By default, a video has 640 × 480 pixels, and its cells are
 * 35 to 70 grey levels brighter than the background of 120.
 */
export interface CellVideoOptions {
  /** Seed of the random numbers, an integer. Equal options give equal bytes on every machine. */
  readonly seed: number;
  /** Number of cells in the first frame. */
  readonly cells: number;
  /** Amplitude of the motionless texture behind the cells: 10 is faint, 30 is about as strong as the weaker cells. */
  readonly amplitude: number;
  readonly frames: number;
  readonly width?: number;
  readonly height?: number;
  /** Standard deviation, in grey levels, of the noise that is added to every pixel of every frame; 3 by default. */
  readonly noise?: number;
  /** Minimum and maximum grey levels by which a cell differs from its background; negative for dark cells. */
  readonly contrast?: readonly [number, number];
  /** Minimum and maximum half axes of cells, in pixels. */
  readonly radius?: readonly [min: number, max: number];
  /** Minimum and maximum speed along the vessel, in pixels per frame. */
  readonly speed?: readonly [min: number, max: number];
  /** Direction along the vessel; `[1, 0]` by default. */
  readonly direction?: readonly [x: number, y: number];
  /**
   * Strength of a ring around each cell, as a share of the cell's contrast; the ring is dark around bright cells. 0 by
   * default.
   */
  readonly halos?: number;
  /** Whether cells may overtake and cover each other. */
  readonly occlusion?: boolean;
  /** Whether cells leave the frame at the vessel's end and new ones enter at its start. */
  readonly entries?: boolean;
}

/** A cell with its exact position in one frame. */
export interface TrueCell {
  /** Identifies the cell in all frames. */
  readonly id: number;
  /** The centre in pixels; the middle of the upper left pixel is at 0, 0. */
  readonly x: number;
  readonly y: number;
  /** Half axes along and across the vessel. */
  readonly rx: number;
  readonly ry: number;
  /** True if the centre is in the frame and other cells cover at most half of the cell's area in the frame. */
  readonly visible: boolean;
}

/** A grey frame, with its rows from top to bottom, and the cells in it. */
export interface CellVideoFrame {
  readonly frame: { readonly width: number; readonly height: number; readonly grey: Uint8Array<ArrayBuffer> };
  /** Ascending by id. */
  readonly truth: readonly TrueCell[];
}

type Settings = Required<CellVideoOptions>;

const DEFAULTS = {
  width: 640,
  height: 480,
  noise: 3,
  contrast: [35, 70],
  radius: [9, 11],
  speed: [0.3, 3],
  direction: [1, 0],
  halos: 0,
  occlusion: false,
  entries: false,
} as const;
const BACKGROUND = 120;
const TEXTURE_ROUNDS = 30;
const TEXTURE_GAIN = 6;
/**
 * Half the width in pixels of a cell's soft edge, in which the cell fades into the background. The derivative of the
 * edge's profile has a standard deviation of 1.2 pixels, as for a sharp edge blurred by a Gaussian with σ = 1.2.
 */
const SOFT_EDGE = 1.2 * Math.sqrt(5);
const HALO_WIDTH = 5;
/** Numbers that identify the independent random streams of one seed. The noise of frame i uses FIRST_FRAME + i. */
const [MOTION, TEXTURE, CONTRASTS, FIRST_FRAME] = [0, 1, 2, 3];

/**
 * A video of cells that move along a vessel, with their exact centres. Cells are ellipses with soft edges over a
 * motionless texture, plus noise. They do not touch unless `occlusion` is set. Frames are drawn on demand; a second
 * iteration gives the same frames.
 *
 * @throws RangeError if the frame has no room for the cells.
 */
export function cellVideo(options: CellVideoOptions): Iterable<CellVideoFrame> {
  return { [Symbol.iterator]: () => drawFrames({ ...DEFAULTS, ...options }) };
}

function* drawFrames(settings: Settings): Generator<CellVideoFrame> {
  const { seed, width, height, contrast, noise } = settings;
  const still = stillTexture(settings);
  const contrasts: number[] = [];
  const contrastRandom = randomOf(seed, CONTRASTS);
  let index = 0;
  for (const cells of cellMotion(settings, randomOf(seed, MOTION))) {
    const max = cells.at(-1)?.id ?? 0;
    while (contrasts.length <= max) contrasts.push(contrastRandom.between(...contrast));
    const { light, visible } = drawCells(cells, contrasts, settings);
    const grey = withNoise(still, light, noise, randomOf(seed, FIRST_FRAME + index++));
    yield { frame: { width, height, grey }, truth: cells.map((cell, i) => ({ ...cell, visible: visible[i]! })) };
  }
}

function stillTexture({ seed, width, height, amplitude }: Settings): Float64Array {
  const random = randomOf(seed, TEXTURE);
  let values = Float64Array.from({ length: width * height }, () => random.normal());
  let means = new Float64Array(width * height);
  for (let round = 0; round < TEXTURE_ROUNDS; round++) {
    fivePointMean(values, means, width, height);
    [values, means] = [means, values];
  }
  return values.map((value) => BACKGROUND + TEXTURE_GAIN * amplitude * value);
}

/**
 * Replaces each pixel by the mean of itself and its four neighbours. Edges wrap around, so that all pixels are treated
 * alike.
 */
function fivePointMean(from: Float64Array, to: Float64Array, width: number, height: number): void {
  for (let y = 0; y < height; y++) {
    const [row, above, below] = [y * width, ((y + height - 1) % height) * width, ((y + 1) % height) * width];
    for (let x = 0; x < width; x++) {
      const [left, right] = [x === 0 ? width - 1 : x - 1, x === width - 1 ? 0 : x + 1];
      to[row + x] = (from[row + x]! + from[row + left]! + from[row + right]! + from[above + x]! + from[below + x]!) / 5;
    }
  }
}

interface Drawing {
  /** The grey levels that the cells add to each pixel. */
  readonly light: Float64Array;
  readonly visible: readonly boolean[];
}

/** Draws the cells in order; later cells cover earlier ones. */
function drawCells(cells: readonly MovingCell[], contrasts: readonly number[], settings: Settings): Drawing {
  const { width, height, direction, halos } = settings;
  const light = new Float64Array(width * height);
  const top = new Int32Array(width * height).fill(-1);
  const pixels = new Uint32Array(cells.length);
  const length = Math.sqrt(direction[0] ** 2 + direction[1] ** 2);
  const [dx, dy] = [direction[0] / length, direction[1] / length];
  for (const [i, { id, x, y, rx, ry }] of cells.entries()) {
    const reach = Math.max(rx, ry) + SOFT_EDGE + (halos === 0 ? 0 : HALO_WIDTH);
    const [left, right] = [Math.max(0, Math.ceil(x - reach)), Math.min(width - 1, Math.floor(x + reach))];
    const [above, below] = [Math.max(0, Math.ceil(y - reach)), Math.min(height - 1, Math.floor(y + reach))];
    for (let row = above; row <= below; row++) {
      for (let column = left; column <= right; column++) {
        const [along, across] = [(column - x) * dx + (row - y) * dy, (row - y) * dx - (column - x) * dy];
        const outside = beyondOutline(along, across, rx, ry);
        const at = row * width + column;
        const cover = coverage(outside);
        if (outside < 0) {
          top[at] = i;
          pixels[i]!++;
        }
        const halo = halos === 0 ? 0 : halos * ring(outside) * contrasts[id]!;
        light[at] = light[at]! * (1 - cover) + contrasts[id]! * cover - halo;
      }
    }
  }
  const seen = new Uint32Array(cells.length);
  for (const i of top) if (i >= 0) seen[i]!++;
  const visible = cells.map(({ x, y }, i) => {
    return x >= 0 && y >= 0 && x <= width - 1 && y <= height - 1 && 2 * seen[i]! >= pixels[i]!;
  });
  return { light, visible };
}

/**
 * Signed distance in pixels between a point and the outline of an ellipse, along the ray from the centre; negative
 * inside.
 */
function beyondOutline(x: number, y: number, rx: number, ry: number): number {
  const distance = Math.sqrt(x * x + y * y);
  const scaled = Math.sqrt((x / rx) * (x / rx) + (y / ry) * (y / ry));
  return scaled === 0 ? -Math.min(rx, ry) : distance * (1 - 1 / scaled);
}

/** The share of a pixel that a cell covers: 1 inside, 0 outside, with a smooth transition at the edge. */
function coverage(outside: number): number {
  const t = Math.min(1, Math.max(0, (SOFT_EDGE - outside) / (2 * SOFT_EDGE)));
  return t * t * (3 - 2 * t);
}

/**
 * The profile of the ring around a cell: rises from 0 to 1 and falls back to 0 within HALO_WIDTH pixels outside the
 * outline.
 */
function ring(outside: number): number {
  const t = Math.min(1, Math.max(0, outside / HALO_WIDTH));
  return 16 * t * t * (1 - t) * (1 - t);
}

function withNoise(still: Float64Array, light: Float64Array, noise: number, random: Random): Uint8Array<ArrayBuffer> {
  const grey = new Uint8Array(still.length);
  for (let at = 0; at < grey.length; at++) {
    const value = still[at]! + light[at]! + noise * random.normal();
    grey[at] = Math.min(255, Math.max(0, Math.round(value)));
  }
  return grey;
}

/**
 * Writes a video as AVI and, with `--truth`, its cells as CSV with the columns frame, id, x, y, rx, ry and visible.
 *
 * node --import tsx bench/leukocyte/cell-video.ts --out video.avi [--truth truth.csv] [--seed 1] [--cells 36] [--amplitude 10]
 *   [--frames 100] [--width 640] [--height 480] [--frame-rate 30] [--direction 1,0] [--halos 0.4] [--occlusion] [--entries]
 */
async function main(): Promise<void> {
  const { out, truth, ...drawing } = programOptions({
    ...{ out: undefined, truth: undefined, 'frame-rate': 30 },
    ...{ seed: 1, cells: 36, amplitude: 10, frames: 100, width: 640, height: 480 },
    ...{ direction: [1, 0], halos: 0, occlusion: false, entries: false },
  });
  if (out === undefined) throw new Error('Name the file to write with --out.');
  const [x = 0, y = 0] = drawing.direction;
  const video = cellVideo({ ...drawing, direction: [x, y] });
  const { width, height, 'frame-rate': frameRate } = drawing;
  await writeAvi(out, { width, height, frameRate }, withTruth(video, truth));
}

/**
 * Yields the grey values of the frames. If `file` is given, also writes the true cells of each frame to this file as
 * CSV.
 */
function* withTruth(video: Iterable<CellVideoFrame>, file: string | undefined): Generator<Uint8Array> {
  const out = file === undefined ? undefined : openSync(file, 'w');
  try {
    if (out !== undefined) writeSync(out, 'frame,id,x,y,rx,ry,visible\n');
    let index = 0;
    for (const { frame, truth } of video) {
      const lines = truth.map(({ id, x, y, rx, ry, visible }) => `${index},${id},${x},${y},${rx},${ry},${visible}\n`);
      if (out !== undefined) writeSync(out, lines.join(''));
      index++;
      yield frame.grey;
    }
  } finally {
    if (out !== undefined) closeSync(out);
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await main();
