/** Columns and rows of the quadrants that are stored as signatures. */
const SIGNATURE_SIDE = 4;

/** A quadrant of a bit plane: uniformly 0 or 1, the bits of a last quadrant, or four quadrants. */
type Quadrant = 0 | 1 | { readonly signature: number } | { readonly children: readonly Quadrant[] };

/**
 * The BQ-tree of a tile, made quadrant by quadrant from the definition: a quadtree for each bit plane, whose quadrants
 * are split until they are uniform or have 4 × 4 cells. The trees are written side by side, level by level.
 */
export function bqTreeByHand(cells: readonly number[], side: number, planes: number): Uint32Array {
  const roots = Array.from({ length: planes }, (_, plane) =>
    quadrantOf((row, column) => (cells[row * side + column]! >>> plane) & 1, 0, 0, side),
  );
  const bytes: number[] = [...statesOfRoots(roots)];
  let level: Quadrant[][] = [roots];
  for (let size = side; size > SIGNATURE_SIDE; size /= 2) {
    for (const places of level)
      for (const quadrant of places) if (isSplit(quadrant)) bytes.push(byteOf(quadrant.children));
    level = level.flatMap((places) =>
      [0, 1, 2, 3].map((child) => places.map((quadrant) => (isSplit(quadrant) ? quadrant.children[child]! : quadrant))),
    );
  }
  if (bytes.length % 2 !== 0) bytes.push(0);
  for (const places of level) {
    for (const quadrant of places) {
      if (typeof quadrant === 'object' && 'signature' in quadrant) {
        bytes.push(quadrant.signature & 255, quadrant.signature >> 8);
      }
    }
  }
  while (bytes.length % 4 !== 0) bytes.push(0);
  return new Uint32Array(Uint8Array.from(bytes).buffer);
}

function quadrantOf(bit: (row: number, column: number) => number, row: number, column: number, size: number): Quadrant {
  if (size === SIGNATURE_SIDE) {
    let signature = 0;
    for (let i = 0; i < 16; i++) signature |= bit(row + (i >> 2), column + (i & 3)) << i;
    return signature === 0 ? 0 : signature === 0xffff ? 1 : { signature };
  }
  const half = size / 2;
  const children = [0, 1, 2, 3].map((child) =>
    quadrantOf(bit, row + (child >> 1) * half, column + (child & 1) * half, half),
  );
  const [first] = children;
  return typeof first === 'number' && children.every((child) => child === first) ? first : { children };
}

function isSplit(quadrant: Quadrant): quadrant is { readonly children: readonly Quadrant[] } {
  return typeof quadrant === 'object' && 'children' in quadrant;
}

function byteOf(children: readonly Quadrant[]): number {
  return children.reduce<number>((byte, child, i) => byte | (stateOf(child) << (2 * i)), 0);
}

function stateOf(quadrant: Quadrant): number {
  return typeof quadrant === 'number' ? quadrant : 2;
}

/** A bit for each plane that is uniformly 1, then a bit for each mixed plane, and zeros up to a whole word. */
function statesOfRoots(roots: readonly Quadrant[]): number[] {
  const bits = [...roots.map((root) => stateOf(root) === 1), ...roots.map((root) => stateOf(root) === 2)];
  const bytes = new Array<number>(4 * Math.ceil(bits.length / 32)).fill(0);
  for (const [i, isSet] of bits.entries()) if (isSet) bytes[i >> 3]! |= 1 << (i & 7);
  return bytes;
}
