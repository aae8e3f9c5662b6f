/**
 * GICOV (gradient inverse coefficient of variation), the score of circles, as plain loops: once in f64, and once in the
 * integers and f32 with which devices compute.
 */

export interface PlainFrame {
  readonly width: number;
  readonly height: number;
  readonly grey: ArrayLike<number>;
}

export interface Circles {
  readonly radii: readonly number[];
  readonly points: number;
  readonly margin: number;
}

export interface PlainScores {
  readonly score: Float64Array;
  readonly radius: Float64Array;
}

/**
 * Twice the slopes of the grey values along x and y. Inside the frame, these are the differences between the two
 * neighbours of a pixel; at the edges, they are one-sided differences times 2.
 */
export function doubledSlopes({ width, height, grey }: PlainFrame): [Float64Array, Float64Array] {
  const [x, y] = [new Float64Array(width * height), new Float64Array(width * height)];
  for (let row = 0, i = 0; row < height; row++) {
    for (let column = 0; column < width; column++, i++) {
      const along = (first: boolean, last: boolean, step: number): number => {
        const [before, after] = [first ? grey[i]! : grey[i - step]!, last ? grey[i]! : grey[i + step]!];
        return Math.fround(after - before) * (first || last ? 2 : 1);
      };
      x[i] = along(column === 0, column === width - 1, 1);
      y[i] = along(row === 0, row === height - 1, width);
    }
  }
  return [x, y];
}

interface Sample {
  readonly dx: number;
  readonly dy: number;
  readonly cos: number;
  readonly sin: number;
}

function samplesOf(radius: number, points: number): Sample[] {
  return Array.from({ length: points }, (_, n) => {
    const angle = ((n % (points / 2)) * 2 * Math.PI) / points;
    const side = n < points / 2 ? 1 : -1;
    const [cos, sin] = [side * Math.cos(angle), side * Math.sin(angle)];
    const cut = (step: number): number => Math.trunc(step * radius * (1 + 1e-12)) + 0;
    return { dx: cut(cos), dy: cut(sin), cos, sin };
  });
}

/** Calls `visit` for each pixel that is at least `margin` pixels away from every edge. */
function eachInside({ width, height }: PlainFrame, margin: number, visit: (x: number, y: number, i: number) => void) {
  for (let y = margin; y < height - margin; y++) {
    for (let x = margin; x < width - margin; x++) visit(x, y, y * width + x);
  }
}

/** The GICOV scores in f64. */
export function plainGicov(frame: PlainFrame, { radii, points, margin }: Circles): PlainScores {
  const [slopeX, slopeY] = doubledSlopes(frame);
  const score = new Float64Array(slopeX.length);
  const radius = new Float64Array(slopeX.length);
  const circles = radii.map((each) => samplesOf(each, points));
  eachInside(frame, margin, (_x, _y, i) => {
    let best = 0;
    for (const [k, samples] of circles.entries()) {
      const slopes = samples.map(({ dx, dy, cos, sin }) => {
        const place = i + dy * frame.width + dx;
        return slopeX[place]! * cos + slopeY[place]! * sin;
      });
      const mean = slopes.reduce((sum, slope) => sum + slope, 0) / points;
      const variance = slopes.reduce((sum, slope) => sum + (slope - mean) ** 2, 0) / (points - 1);
      if (variance === 0 || mean ** 2 / variance <= best) continue;
      best = mean ** 2 / variance;
      score[i] = mean / Math.sqrt(variance);
      radius[i] = radii[k]!;
    }
  });
  return { score, radius };
}

/** The GICOV scores in integers and f32; devices must give the same bits. */
export function exactGicov(frame: PlainFrame, { radii, points, margin }: Circles): PlainScores {
  const f = Math.fround;
  const [slopeX, slopeY] = doubledSlopes(frame);
  let max = 0;
  for (const slopes of [slopeX, slopeY]) for (const slope of slopes) max = Math.max(max, Math.abs(slope));
  const scale = max === 0 ? 0 : 2 ** (13 - Math.floor(Math.log2(max)));
  const [x, y] = [slopeX, slopeY].map((slopes) => slopes.map((slope) => Math.trunc(slope * scale)));
  const score = new Float64Array(slopeX.length);
  const radius = new Float64Array(slopeX.length);
  const pairs = points / 2;
  const order = [...samplesOf(1, points).keys()].slice(0, pairs).sort((a, b) => (a % 2) - (b % 2) || a - b);
  const circles = radii.map((each) => {
    const samples = samplesOf(each, points);
    return order.map((n) => samples[n]!);
  });
  eachInside(frame, margin, (_x, _y, i) => {
    let [best, sum] = [0, 0];
    for (const [k, samples] of circles.entries()) {
      let [total, squares] = [0, 0];
      for (const { dx, dy, cos, sin } of samples) {
        const [c, s] = [Math.round(cos * 2 ** 14), Math.round(sin * 2 ** 14)];
        const slope = (place: number): number => Math.floor((x![place]! * c + y![place]! * s) / 2 ** 14);
        const step = dy * frame.width + dx;
        const [a, b] = [slope(i + step), slope(i - step)];
        total += a - b;
        squares = f(squares + f(a * a + b * b));
      }
      const mean = f(f(f(total) * f(total)) * f(1 / points));
      const spread = Math.max(f(squares - mean), squares * 2 ** -20, 2 ** -24);
      const ratio = f(f(total * total) / spread);
      if (ratio <= best) continue;
      [best, sum] = [ratio, total];
      radius[i] = radii[k]!;
    }
    if (radius[i] === 0) return;
    const size = f(Math.sqrt(f(best * f((points - 1) / points ** 2))));
    score[i] = sum < 0 ? -size : size;
  });
  return { score, radius };
}
