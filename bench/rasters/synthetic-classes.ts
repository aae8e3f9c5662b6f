import { terrain } from '../zonal/terrain.ts';

/** Codes of classes, as land cover has them: neither in order nor without gaps. */
const CODES = [11, 21, 22, 23, 31, 41, 42, 43, 52, 71, 81, 82, 90, 95];

/**
 * Synthetic land cover: the class of a cell follows from two reliefs at different places. Patches of a class are from
 * single cells to hundreds of cells wide.
 */
export function landCover(width: number, height: number): Uint8Array {
  const window = { row: 0, column: 0, rows: height, columns: width };
  const [a, b] = [terrain(window), terrain({ ...window, row: 50_000 })];
  return Uint8Array.from(a, (value, i) => {
    const [high, wet] = [Math.floor(value / 10_000), Math.floor(b[i]! / 22_000)];
    return CODES[(3 * high + wet) % CODES.length]!;
  });
}

/** {@link landCover} as a classifier of single cells gives it: every 20th cell, at random, has another class. */
export function speckledLandCover(width: number, height: number): Uint8Array {
  return landCover(width, height).map((code, i) => {
    const random = (Math.imul(i + 1, 0x9e3779b1) ^ (Math.imul(i + 1, 0x85ebca6b) >>> 13)) >>> 0;
    return random % 20 === 0 ? CODES[(random >>> 8) % CODES.length]! : code;
  });
}

/** A synthetic mask: 1 where a relief lies above half of its range, else 0. */
export function mask(width: number, height: number): Uint8Array {
  return Uint8Array.from(terrain({ row: 0, column: 0, rows: height, columns: width }), (value) => value >> 15);
}
