import type { Ranking } from './ranking.ts';

/** The points nearest to one query among those offered, nearest first, and by number where distances are equal. */
export interface NearestList {
  /** Empties the list, for a query and a number of points to keep. */
  begin(query: number, max: number): void;
  /** Adds a point if it is among the nearest. A point must not be offered twice. */
  offer(point: number): void;
  /** Whether a point, or points with larger numbers at the same distance, would be added. */
  wouldTake(point: number): boolean;
  readonly count: number;
  readonly points: Uint32Array;
  /** A distance that the last point does not exceed; +∞ as long as the list is not full, −∞ if it keeps no points. */
  readonly limit: number;
}

export function nearestList(ranking: Ranking): NearestList {
  const { found } = ranking;
  let [points, values, errors] = [new Uint32Array(16), new Float64Array(16), new Float64Array(16)];
  let [asked, max, count] = [0, 0, 0];

  /** Whether a point, whose approximate distance has been found, comes before the entry at a place. */
  function isBefore(point: number, value: number, error: number, place: number): boolean {
    const [other, margin] = [values[place]!, error + errors[place]!];
    if (value + margin < other) return true;
    if (value - margin > other) return false;
    const order = ranking.compare(asked, point, points[place]!);
    return order === 0 ? point < points[place]! : order < 0;
  }

  return {
    begin(query, most) {
      [asked, max, count] = [query, most, 0];
      if (max <= points.length) return;
      points = new Uint32Array(max);
      values = new Float64Array(max);
      errors = new Float64Array(max);
    },
    offer(point) {
      if (max === 0) return;
      ranking.approximate(asked, point);
      const { value, error } = found;
      if (count === max && !isBefore(point, value, error, count - 1)) return;
      const end = Math.min(count, max - 1);
      let [from, to] = [0, end];
      // Points mostly come in the order of their distances.
      if (end > 0 && !isBefore(point, value, error, end - 1)) from = end;
      while (from < to) {
        const middle = (from + to) >> 1;
        if (isBefore(point, value, error, middle)) to = middle;
        else from = middle + 1;
      }
      for (let place = end; place > from; place--) {
        points[place] = points[place - 1]!;
        values[place] = values[place - 1]!;
        errors[place] = errors[place - 1]!;
      }
      points[from] = point;
      values[from] = value;
      errors[from] = error;
      count = end + 1;
    },
    wouldTake(point) {
      if (count < max) return true;
      ranking.approximate(asked, point);
      return isBefore(point, found.value, found.error, count - 1);
    },
    get count() {
      return count;
    },
    get points() {
      return points;
    },
    get limit() {
      if (max === 0) return Number.NEGATIVE_INFINITY;
      return count < max ? Number.POSITIVE_INFINITY : values[count - 1]! + errors[count - 1]!;
    },
  };
}

/** The points within a distance of one query. */
export interface WithinList {
  begin(query: number): void;
  /** Adds a point if its distance, rounded as it is reported, is at most the radius. */
  offer(point: number): void;
  /** The points, nearest first, and by number where distances are equal. */
  sorted(): Uint32Array;
}

export function withinList(ranking: Ranking, radius: number): WithinList {
  const { found } = ranking;
  const [points, values, errors]: number[][] = [[], [], []];
  let asked = 0;
  return {
    begin(query) {
      asked = query;
      points!.length = 0;
      values!.length = 0;
      errors!.length = 0;
    },
    offer(point) {
      ranking.approximate(asked, point);
      const { value, error } = found;
      if (value - error > radius) return;
      if (!(value + error <= radius) && ranking.distance(asked, point) > radius) return;
      points!.push(point);
      values!.push(value);
      errors!.push(error);
    },
    sorted() {
      const order = Uint32Array.from(points!.keys());
      order.sort((a, b) => {
        const between = values![a]! - values![b]!;
        if (Math.abs(between) > errors![a]! + errors![b]!) return between;
        return ranking.compare(asked, points![a]!, points![b]!) || points![a]! - points![b]!;
      });
      return order.map((i) => points![i]!);
    },
  };
}
