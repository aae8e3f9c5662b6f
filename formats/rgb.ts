/** Red, green and blue, from 0 to 255. */
export type Rgb = readonly [red: number, green: number, blue: number];

/** A colour in the notation of SVG, such as `#1b1e24`. */
export function hexColor(color: Rgb): string {
  return `#${color.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}
