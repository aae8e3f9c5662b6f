/** A nucleus before segmentation: an ellipse, in pixels of its site (a square area with one group of nuclei). */
export interface Ellipse {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  /**
   * Length of the longer axis divided by the length of the shorter axis; `angle` is the direction of the longer axis.
   */
  readonly aspect: number;
  readonly angle: number;
}

/** A half plane that cuts a nucleus in two. The part inside the half plane is drawn. */
export interface Cut {
  readonly angle: number;
  readonly side: 1 | -1;
}

/** Width and height of a site in pixels; the outermost pixels stay free. */
export const SITE = 80;

/** Pixels per row of the canvas, which adds a border of free pixels to the site. */
const STRIDE = SITE + 2;

const FREE = 0;
const CANDIDATE = 255;

/** Maximum distance between a drawn rim and the nucleus's outline, as a fraction of the nucleus's radius. */
const ROUGHNESS = 0.14;
/**
 * Fraction of the objects from which one pixel is removed, so that their outline touches itself at a corner.
 * Thresholding an image has this effect too.
 */
const NICKED = 0.55;

/**
 * The traced outline of an object: the vertices of all rings in order, and for each ring the index after its last
 * vertex.
 */
export interface Outline {
  readonly x: number[];
  readonly y: number[];
  readonly ringEnds: number[];
  area: number;
  touchesItself: boolean;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The pixels of one site in one segmentation. Each pixel has the label of its object, or 0 if it is free. */
export class Canvas {
  readonly #labels: Uint8Array = new Uint8Array(STRIDE * STRIDE);
  readonly #walked: Uint8Array = new Uint8Array(STRIDE * STRIDE);
  readonly #stack: Int32Array = new Int32Array(4 * STRIDE * STRIDE);
  /** The bounding box of the pixels that the current object may use. */
  readonly #window = { left: 0, top: 0, right: 0, bottom: 0 };
  #objects = 0;

  clear(): void {
    this.#labels.fill(FREE);
    this.#walked.fill(0);
    this.#objects = 0;
  }

  /**
   * Draws a nucleus as a segmentation would find it, with a ragged rim: of the pixels that are still free, the largest
   * 4-connected part becomes the object. Several ellipses become one object. Returns undefined if the object would have
   * fewer than four pixels.
   */
  draw(ellipses: readonly Ellipse[], random: () => number, cut?: Cut): Outline | undefined {
    Object.assign(this.#window, { left: SITE, top: SITE, right: 0, bottom: 0 });
    for (const ellipse of ellipses) this.#mark(ellipse, random, cut);
    const label = this.#objects + 1;
    const seed = this.#keepLargestPart(label);
    if (seed === 0) return undefined;
    this.#objects = label;
    if (random() < NICKED) this.#nick(label, random);
    return this.#trace(label);
  }

  /**
   * Marks the free pixels of an ellipse as candidates for the current object. Near the rim, a random choice decides for
   * each pixel.
   */
  #mark({ x, y, radius, aspect, angle }: Ellipse, random: () => number, cut: Cut | undefined): void {
    const reach = Math.ceil(radius * Math.sqrt(aspect) * (1 + ROUGHNESS)) + 1;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const [along, across] = [1 / (radius * Math.sqrt(aspect)), Math.sqrt(aspect) / radius];
    const [cutX, cutY] = cut ? [cut.side * Math.cos(cut.angle), cut.side * Math.sin(cut.angle)] : [0, 0];
    const [inner, outer] = [(1 - ROUGHNESS) ** 2, (1 + ROUGHNESS) ** 2];
    const [left, top] = [Math.max(1, Math.floor(x - reach)), Math.max(1, Math.floor(y - reach))];
    const [right, bottom] = [Math.min(SITE - 1, Math.ceil(x + reach)), Math.min(SITE - 1, Math.ceil(y + reach))];
    this.#widenWindow(left, top, right, bottom);
    for (let row = top; row < bottom; row++) {
      for (let column = left; column < right; column++) {
        const [dx, dy] = [column + 0.5 - x, row + 0.5 - y];
        if (dx * cutX + dy * cutY < 0) continue;
        const [u, v] = [(dx * cos + dy * sin) * along, (dy * cos - dx * sin) * across];
        const distance = u * u + v * v;
        if (distance > outer) continue;
        if (distance > inner && random() * (outer - inner) < distance - inner) continue;
        const at = pixelAt(column, row);
        if (this.#labels[at] === FREE) this.#labels[at] = CANDIDATE;
      }
    }
  }

  #widenWindow(left: number, top: number, right: number, bottom: number): void {
    const window = this.#window;
    window.left = Math.min(window.left, left);
    window.top = Math.min(window.top, top);
    window.right = Math.max(window.right, right);
    window.bottom = Math.max(window.bottom, bottom);
  }

  /**
   * Labels the largest 4-connected part of the candidates, and frees the other candidates. Returns one pixel of the
   * part, or 0 if the part would have fewer than four pixels.
   */
  #keepLargestPart(label: number): number {
    const labels = this.#labels;
    let [best, bestSize] = [0, 3];
    const parts: number[] = [];
    const { left, top, right, bottom } = this.#window;
    for (let row = top; row < bottom; row++) {
      for (let at = pixelAt(left, row); at < pixelAt(right, row); at++) {
        if (labels[at] !== CANDIDATE) continue;
        const size = this.#flood(at, CANDIDATE, CANDIDATE - 1);
        parts.push(at);
        if (size > bestSize) [best, bestSize] = [at, size];
      }
    }
    for (const at of parts) this.#flood(at, CANDIDATE - 1, at === best ? label : FREE);
    return best;
  }

  /**
   * Frees one pixel of an object, if possible, so that the outline touches itself at a corner. The object stays
   * 4-connected.
   */
  #nick(label: number, random: () => number): void {
    const { left, top, right, bottom } = this.#window;
    const labels = this.#labels;
    const is = (at: number): number => (labels[at] === label ? 1 : 0);
    for (let attempt = 0; attempt < 100; attempt++) {
      const column = left + Math.floor(random() * (right - left));
      const at = pixelAt(column, top + Math.floor(random() * (bottom - top)));
      const beside = is(at - 1) + is(at + 1) + is(at - STRIDE) + is(at + STRIDE);
      const diagonal = is(at - STRIDE - 1) + is(at - STRIDE + 1) + is(at + STRIDE - 1) + is(at + STRIDE + 1);
      if (is(at) === 0 || beside < 4 || diagonal !== 3) continue;
      labels[at] = FREE;
      return;
    }
  }

  /** Relabels all pixels that are 4-connected with `start` and labelled `from`; returns their number. */
  #flood(start: number, from: number, to: number): number {
    const [labels, stack] = [this.#labels, this.#stack];
    let [depth, size] = [1, 1];
    stack[0] = start;
    labels[start] = to;
    while (depth > 0) {
      const at = stack[--depth]!;
      for (let turn = 0; turn < 4; turn++) {
        const next = at + FORWARD[turn]!;
        if (labels[next] !== from) continue;
        labels[next] = to;
        stack[depth++] = next;
        size++;
      }
    }
    return size;
  }

  /**
   * Traces the outline of a label, with the object on the right of every edge. At a corner where two pixels of the
   * object touch diagonally, the outline turns right.
   */
  #trace(label: number): Outline {
    const outline: Outline = { ...EMPTY, x: [], y: [], ringEnds: [] };
    const [labels, walked] = [this.#labels, this.#walked];
    const { left, top, right, bottom } = this.#window;
    for (let row = top; row < bottom; row++) {
      let [first, last, count] = [SITE, -1, 0];
      for (let column = left, at = pixelAt(left, row); column < right; column++, at++) {
        if (labels[at] !== label) continue;
        if (count++ === 0) first = column;
        last = column;
        if (labels[at - STRIDE] !== label && walked[at] === 0) this.#walkRing(label, at, column, row, outline);
      }
      if (count > 0) include(outline, row, first, last, count);
    }
    return outline;
  }

  #walkRing(label: number, start: number, startX: number, startY: number, outline: Outline): void {
    const [labels, walked] = [this.#labels, this.#walked];
    let [x, y, heading, at] = [startX, startY, 0, start];
    // `at` is the pixel on the right of the current edge.
    do {
      if (heading === 0) walked[at] = 1;
      x += STEP_X[heading]!;
      y += STEP_Y[heading]!;
      const ahead = at + FORWARD[heading]!;
      const aheadLeft = ahead - FORWARD[(heading + 1) & 3]!;
      if (labels[ahead] !== label) {
        outline.touchesItself ||= labels[aheadLeft] === label;
        heading = (heading + 1) & 3;
      } else if (labels[aheadLeft] === label) {
        heading = (heading + 3) & 3;
        at = aheadLeft;
      } else {
        at = ahead;
        continue;
      }
      outline.x.push(x);
      outline.y.push(y);
    } while (x !== startX || y !== startY || heading !== 0);
    outline.ringEnds.push(outline.x.length);
  }
}

function pixelAt(column: number, row: number): number {
  return (row + 1) * STRIDE + column + 1;
}

/** Adds the pixels of one row to the outline's area and bounding box. */
function include(outline: Outline, row: number, first: number, last: number, count: number): void {
  outline.area += count;
  outline.left = Math.min(outline.left, first);
  outline.right = Math.max(outline.right, last + 1);
  outline.top = Math.min(outline.top, row);
  outline.bottom = row + 1;
}

const EMPTY: Omit<Outline, 'x' | 'y' | 'ringEnds'> = {
  area: 0,
  touchesItself: false,
  left: SITE,
  top: SITE,
  right: 0,
  bottom: 0,
};

const STEP_X = [1, 0, -1, 0];
const STEP_Y = [0, 1, 0, -1];
const FORWARD = [1, STRIDE, -1, -STRIDE];
