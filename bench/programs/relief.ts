/**
 * Heights of a square relief in whole metres, stored as f32: a sum of smooth waves of many lengths, and a roughness of a few metres, so
 * that water runs in valleys and no height repeats for long.
 */
export function relief(side: number): Float32Array {
  const heights = new Float32Array(side * side);
  const waves = [2, 5, 11, 23, 47, 95].map((length, k) => ({ length, across: 1 + (k % 3), high: 900 / 1.7 ** k }));
  for (let y = 0, i = 0; y < side; y++) {
    for (let x = 0; x < side; x++, i++) {
      let height = 3000;
      for (const { length, across, high } of waves) {
        height += high * Math.sin((length * x) / side + across) * Math.cos((length * across * y) / side + length);
      }
      const roughness = Math.imul(i ^ (i >>> 7), 0x9e3779b1) >>> 30;
      heights[i] = Math.round(height) + roughness;
    }
  }
  return heights;
}
