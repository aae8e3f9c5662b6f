import { DOMAIN_BITS, type Domain, WORLD } from '../algorithms/quadrants/domain.ts';
import { UsageError } from '../formats/usage-error.ts';
import { parseNumber } from './values.ts';

/** Parses the number of levels of a quadtree. */
export function parseLevels(text: string, option: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : -1;
  if (value >= 0 && value <= DOMAIN_BITS) return value;
  throw new UsageError('usage/levels', `${option} ${text} is not a whole number from 0 to ${DOMAIN_BITS}.`);
}

/** Parses a square domain `left,bottom,size`, or `world` for all longitudes and latitudes. */
export function parseDomain(text: string, option: string): Domain {
  if (text.toLowerCase() === 'world') return WORLD;
  const parts = text.split(',');
  if (parts.length !== 3) {
    throw new UsageError('usage/domain', `${option} ${text} is not of the form left,bottom,size.`, {
      remedy: `Write, for instance, ${option} -180,-180,360, or ${option} world.`,
    });
  }
  const [left, bottom, size] = parts.map((part) => parseNumber(part, option)) as [number, number, number];
  if (size > 0 && Number.isFinite(left + size) && Number.isFinite(bottom + size)) return { left, bottom, size };
  throw new UsageError('usage/domain', `${option} ${text}: the size ${size} is not a finite number above 0.`, {
    remedy: 'Give the width and height of the square as its size.',
  });
}
