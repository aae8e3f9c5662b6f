/** The slope of log y against log x, by least squares. NaN for fewer than two points. */
export function logSlope(points: readonly (readonly [x: number, y: number])[]): number {
  const logs = points.map(([x, y]) => [Math.log(x), Math.log(y)] as const);
  const mean = (axis: 0 | 1): number => logs.reduce((sum, point) => sum + point[axis], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const rise = logs.reduce((sum, [px, py]) => sum + (px - x) * (py - y), 0);
  return rise / logs.reduce((sum, [px]) => sum + (px - x) ** 2, 0);
}
