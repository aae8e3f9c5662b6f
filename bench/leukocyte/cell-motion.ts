import type { Random } from './random.ts';

/**
 * How cells move. Each cell moves on a lane (a straight line along the vessel), and cells on the same lane keep a
 * distance from each other.
 */
export interface MotionOptions {
  readonly width: number;
  readonly height: number;
  readonly cells: number;
  readonly frames: number;
  readonly radius: readonly [min: number, max: number];
  /** Pixels per frame. */
  readonly speed: readonly [min: number, max: number];
  /** Direction along the vessel; any length except 0. */
  readonly direction: readonly [x: number, y: number];
  /** Whether cells leave the frame at the vessel's end and new ones enter at its start. */
  readonly entries: boolean;
  /** Whether cells may overtake each other. If so, cells need no distance from each other. */
  readonly occlusion: boolean;
}

/** A cell at its position in one frame. */
export interface MovingCell {
  readonly id: number;
  /** The centre in pixels; the middle of the upper left pixel is at 0, 0. */
  readonly x: number;
  readonly y: number;
  /** Half axes along and across the vessel. */
  readonly rx: number;
  readonly ry: number;
}

/**
 * Minimum gap in pixels between the outlines of two cells that must not touch: room for soft edges and some background.
 */
const APART = 5;
/** Maximum distance in pixels between a cell's centre and the centre line of its lane. */
const SLACK = 1;
/** Minimum distance in pixels between the frame's border and the centre of a cell that stays in the frame. */
const MARGIN = 26;

interface Lane {
  /** Where it starts. */
  readonly x: number;
  readonly y: number;
  readonly length: number;
  /** The lane's cells in the direction of the flow: the cell furthest ahead is last. */
  readonly cells: LaneCell[];
}

interface LaneCell {
  readonly id: number;
  readonly rx: number;
  readonly ry: number;
  /** Signed distance in pixels from the centre line of the lane. */
  readonly across: number;
  at: number;
  speed: number;
}

/**
 * The cells in each frame, ascending by id. If `entries` is false, all cells stay in the frame, so in long videos some
 * cells may move more slowly than the minimum `speed`.
 */
export function* cellMotion(options: MotionOptions, random: Random): Generator<MovingCell[]> {
  const [dx, dy] = unit(options.direction);
  const gap = options.occlusion ? 0 : 2 * options.radius[1] + APART;
  const lanes = lanesOf(options, random);
  const cells = { next: 0, make: (): LaneCell => newCell(options, cells.next++, random) };
  fillLanes(lanes, options, cells.make, random);
  for (let frame = 0; frame < options.frames; frame++) {
    if (frame > 0) {
      for (const lane of lanes) step(lane, gap);
      if (options.entries) replaceLeavers(lanes, options.cells, gap, cells.make, random);
    }
    const moving = lanes.flatMap((lane) => lane.cells.map((cell) => placed(lane, cell, dx, dy)));
    yield moving.sort((a, b) => a.id - b.id);
  }
}

function unit([x, y]: readonly [number, number]): [number, number] {
  const length = Math.sqrt(x * x + y * y);
  if (!(length > 0 && Number.isFinite(length))) throw new RangeError('The direction must not be the vector 0, 0.');
  return [x / length, y / length];
}

/** Lanes: parallel lines along the vessel. Each line is cut to the positions that cells may have. */
function lanesOf(options: MotionOptions, random: Random): Lane[] {
  const { width, height, radius, entries } = options;
  const [dx, dy] = unit(options.direction);
  const margin = entries ? -(radius[1] + 2) : MARGIN;
  const spacing = 2 * radius[1] + APART;
  const reach = Math.sqrt(width * width + height * height) / 2;
  const lanes: Lane[] = [];
  for (let off = random.between(0, spacing) - reach; off < reach; off += spacing) {
    const [x, y] = [(width - 1) / 2 - dy * off, (height - 1) / 2 + dx * off];
    // If cells enter the frame, `margin` is negative and lanes extend beyond the frame. Otherwise lanes end inside the
    // frame.
    const [from, to] = inside(x, y, dx, dy, options, margin);
    const [clearFrom, clearTo] = inside(x, y, dx, dy, options, MARGIN);
    if (clearTo - clearFrom > 0) lanes.push({ x: x + dx * from, y: y + dy * from, length: to - from, cells: [] });
  }
  return lanes;
}

/**
 * Cuts a line through (`x`, `y`) to the part that is at least `margin` pixels inside the frame's border. Returns the
 * signed distances from (`x`, `y`) to the start and the end of this part, or zeros if the line has no such part.
 */
function inside(x: number, y: number, dx: number, dy: number, size: MotionOptions, margin: number): [number, number] {
  let [from, to] = [-Infinity, Infinity];
  for (const [at, slope, length] of [
    [x, dx, size.width],
    [y, dy, size.height],
  ] as const) {
    const [low, high] = [margin - at, length - 1 - margin - at];
    if (slope === 0) {
      if (low > 0 || high < 0) return [0, 0];
      continue;
    }
    from = Math.max(from, Math.min(low / slope, high / slope));
    to = Math.min(to, Math.max(low / slope, high / slope));
  }
  return to > from ? [from, to] : [0, 0];
}

function newCell(options: MotionOptions, id: number, random: Random): LaneCell {
  const [min, max] = options.radius;
  const half = options.occlusion ? max : SLACK;
  return {
    id,
    rx: random.between(min, max),
    ry: random.between(min, max),
    across: random.between(-half, half),
    at: 0,
    speed: random.between(...options.speed),
  };
}

/** Distributes the cells of the first frame over the lanes, and sets their speeds. */
function fillLanes(lanes: Lane[], options: MotionOptions, make: () => LaneCell, random: Random): void {
  const spacing = 2 * options.radius[1] + APART;
  const steps = options.entries ? 0 : options.frames - 1;
  const rooms = lanes.map(({ length }) => {
    const kept = Math.min(options.speed[0] * steps, length / 2);
    return 1 + Math.floor((length - kept) / spacing);
  });
  const room = rooms.reduce((sum, count) => sum + count, 0);
  if (room < options.cells) {
    throw new RangeError(`A frame of ${options.width} × ${options.height} pixels has room for ${room} cells only.`);
  }
  for (let cell = 0; cell < options.cells; ) {
    const lane = random.below(lanes.length);
    if (lanes[lane]!.cells.length >= rooms[lane]!) continue;
    lanes[lane]!.cells.push(make());
    cell++;
  }
  for (const lane of lanes) {
    spreadOut(lane, spacing, steps, options.speed, random);
    if (!options.entries) limitSpeeds(lane, options.occlusion ? 0 : spacing, steps);
  }
}

/**
 * Places the cells of a lane at random, with the required gaps and, if possible, with enough room to move until the
 * last frame.
 */
function spreadOut(
  { length, cells }: Lane,
  gap: number,
  steps: number,
  [min, max]: readonly [number, number],
  random: Random,
): void {
  const loose = length - (cells.length - 1) * gap;
  const ahead = Math.min(Math.max(Math.min(((min + max) / 2) * steps, 0.6 * loose), min * steps), loose);
  const places = cells.map(() => random.between(0, loose - ahead)).sort((a, b) => a - b);
  for (const [i, cell] of cells.entries()) cell.at = places[i]! + i * gap;
}

/** Slows cells down so that, by the last frame, none has left the lane or come too close to the cell ahead. */
function limitSpeeds({ length, cells }: Lane, gap: number, steps: number): void {
  if (steps === 0) return;
  let end = length;
  for (const cell of cells.toReversed()) {
    cell.speed = Math.max(0, Math.min(cell.speed, (end - cell.at) / steps));
    if (gap > 0) end = cell.at + cell.speed * steps - gap;
  }
}

/**
 * Moves the cells of a lane by one frame. If `gap` is positive, each cell stays at least `gap` pixels behind the cell
 * ahead.
 */
function step(lane: Lane, gap: number): void {
  let ahead = Infinity;
  for (const cell of lane.cells.toReversed()) {
    cell.at += Math.max(0, Math.min(cell.speed, ahead - gap - cell.at));
    if (gap > 0) ahead = cell.at;
  }
}

function replaceLeavers(lanes: Lane[], count: number, gap: number, make: () => LaneCell, random: Random): void {
  let present = 0;
  for (const lane of lanes) {
    const staying = lane.cells.filter((cell) => cell.at <= lane.length);
    lane.cells.length = 0;
    for (const cell of staying) lane.cells.push(cell);
    present += staying.length;
  }
  const open = lanes.filter(({ cells }) => cells.every((cell) => cell.at >= gap));
  while (present < count && open.length > 0) {
    const [lane] = open.splice(random.below(open.length), 1);
    lane!.cells.unshift(make());
    present++;
  }
}

function placed(lane: Lane, { id, at, across, rx, ry }: LaneCell, dx: number, dy: number): MovingCell {
  return { id, x: lane.x + dx * at - dy * across, y: lane.y + dy * at + dx * across, rx, ry };
}
