/** A box in cells or steps of a grid. Rows grow downwards. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/**
 * The parts of a box that no other box covers, as boxes without common area. A box without width or height, such as
 * that of a straight line, is covered by the other box on whose edge it lies.
 */
export function remainderOf(box: Box, others: Iterable<Box>): Box[] {
  let rest = [box];
  for (const other of others) {
    if (rest.length === 0) break;
    rest = rest.flatMap((part) => (boxesMeet(part, other) ? cutOut(part, other) : [part]));
  }
  return rest;
}

/** Whether a box has a part inside another. A common edge is no such part, unless the box is a line on it. */
export function boxesMeet(box: Box, other: Box): boolean {
  return (
    rangesMeet(box.left, box.right, other.left, other.right) && rangesMeet(box.top, box.bottom, other.top, other.bottom)
  );
}

function rangesMeet(from: number, to: number, otherFrom: number, otherTo: number): boolean {
  return from < to ? from < otherTo && otherFrom < to : otherFrom <= from && from <= otherTo;
}

function cutOut({ left, top, right, bottom }: Box, other: Box): Box[] {
  const [innerLeft, innerRight] = [Math.max(left, other.left), Math.min(right, other.right)];
  return [
    ...(left < other.left ? [{ left, top, right: other.left, bottom }] : []),
    ...(right > other.right ? [{ left: other.right, top, right, bottom }] : []),
    ...(top < other.top ? [{ left: innerLeft, top, right: innerRight, bottom: other.top }] : []),
    ...(bottom > other.bottom ? [{ left: innerLeft, top: other.bottom, right: innerRight, bottom }] : []),
  ];
}

/**
 * The copies of a box, moved by whole turns along the columns, that may meet columns from `left` to `right`. A box as
 * wide as a turn has all columns. Without a turn, the box is its only copy.
 */
export function turnedCopies(box: Box, left: number, right: number, turn: number | undefined): Box[] {
  if (turn === undefined) return [box];
  if (box.right - box.left >= turn) return [{ ...box, left: -Infinity, right: Infinity }];
  const copies: Box[] = [];
  for (let turns = Math.ceil((left - box.right) / turn); turns <= Math.floor((right - box.left) / turn); turns++) {
    copies.push({ ...box, left: box.left + turns * turn, right: box.right + turns * turn });
  }
  return copies;
}
