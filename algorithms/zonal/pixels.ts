import { aWord, type Kind } from '../../primitives/checks/kinds.ts';

/**
 * Which cells belong to a zone. `center`: those whose centre is in it. `all-touched`: those that share area with it, however
 * little, so a cell may belong to several neighbouring zones. What a cell shares with a zone that only touches its border
 * is no area. `fractional`: as `all-touched`, and in statistics each cell has the weight of the fraction of it that is in
 * the zone.
 */
export type Pixels = 'center' | 'all-touched' | 'fractional';

export const aPixels: Kind = aWord(['center', 'all-touched', 'fractional'] satisfies Pixels[]);
