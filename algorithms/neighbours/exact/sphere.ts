/** Mean radius of the Earth in metres (IUGG). */
export const EARTH_RADIUS = 6_371_008.8;

const RADIANS = Math.PI / 180;

/** The sine of an angle from −90 to 90 degrees. Exact at −90, 0 and 90. */
function sine(degrees: number): number {
  if (Math.abs(degrees) <= 45) return Math.sin(degrees * RADIANS);
  return Math.sign(degrees) * Math.cos((90 - Math.abs(degrees)) * RADIANS);
}

/** The cosine of an angle from −90 to 90 degrees. */
const cosine = (degrees: number): number => sine(90 - Math.abs(degrees));

/** The longitude from −180 to 180 of the same meridian. */
function wrapped(longitude: number): number {
  const rest = longitude % 360;
  return rest > 180 ? rest - 360 : rest < -180 ? rest + 360 : rest;
}

/**
 * The distance in metres along a great circle, from longitudes and latitudes in degrees. Both legs of the arc tangent
 * are sums of squares, so nothing cancels out, neither near 0 nor near the antipode.
 */
export function greatCircle(longitudeA: number, latitudeA: number, longitudeB: number, latitudeB: number): number {
  // All longitudes of a pole are one point, whose distance must not be rounded in different ways.
  const isPole = Math.abs(latitudeA) === 90 || Math.abs(latitudeB) === 90;
  const along = isPole ? 0 : Math.abs(wrapped(wrapped(longitudeA) - wrapped(longitudeB))) / 2;
  const [up, sum] = [(latitudeA - latitudeB) / 2, (latitudeA + latitudeB) / 2];
  const [sinAlong, cosAlong, sinUp, cosUp] = [sine(along), cosine(along), sine(up), cosine(up)];
  const near = (sinUp * cosAlong) ** 2 + (cosine(sum) * sinAlong) ** 2;
  const far = (cosUp * cosAlong) ** 2 + (sine(sum) * sinAlong) ** 2;
  return 2 * EARTH_RADIUS * Math.atan2(Math.sqrt(near), Math.sqrt(far));
}

/** The point on the unit sphere, as three coordinates, written to `to` from index `at` on. */
export function placeOnSphere(longitude: number, latitude: number, to: Float64Array, at: number): void {
  const east = wrapped(longitude);
  // Beyond 90 degrees, the same sine, and the cosine with the other sign, as of the angle mirrored at 90 degrees.
  const isBehind = Math.abs(east) > 90;
  const mirrored = isBehind ? Math.sign(east) * (180 - Math.abs(east)) : east;
  const wide = cosine(latitude);
  to[at] = wide * cosine(mirrored) * (isBehind ? -1 : 1);
  to[at + 1] = wide * sine(mirrored);
  to[at + 2] = sine(latitude);
}
