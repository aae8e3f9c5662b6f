// Takes the columns from source maps that TypeScript wrote, so that a package has 4 MB less. A line of a module keeps where
// each line of its source begins in it: stacks, breakpoints and steps name the same lines as before.
//
// node source-maps-build.mjs [FOLDER]
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2] ?? 'dist';
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The numbers of a segment: 5 bits a digit, the lowest first; the lowest bit of a number is its sign. */
function numbersOf(segment) {
  const numbers = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >>> 1) : value >>> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

function segmentOf(numbers) {
  return numbers
    .map((number) => {
      let digits = '';
      let value = number < 0 ? (-number << 1) | 1 : number << 1;
      do {
        digits += DIGITS[(value & 31) | (value > 31 ? 32 : 0)];
        value >>>= 5;
      } while (value > 0);
      return digits;
    })
    .join('');
}

/** Mappings with the first segment of each line of the source only, for each line of the module. */
function byLines(mappings) {
  // Of what was read, and of what was kept: source, line and column, to which the next segment is relative.
  const read = [0, 0, 0];
  let kept = [0, 0, 0];
  return mappings
    .split(';')
    .map((line) => {
      let [column, keptColumn, sourceLine] = [0, 0, -1];
      const segments = [];
      for (const segment of line === '' ? [] : line.split(',')) {
        const [columns, ...place] = numbersOf(segment);
        column += columns;
        place.slice(0, 3).forEach((step, i) => {
          read[i] += step;
        });
        if (place.length === 0 || read[1] === sourceLine) continue;
        segments.push(segmentOf([column - keptColumn, ...read.map((number, i) => number - kept[i])]));
        [keptColumn, kept, sourceLine] = [column, [...read], read[1]];
      }
      return segments.join(',');
    })
    .join(';');
}

for (const name of readdirSync(folder, { recursive: true })) {
  if (!name.endsWith('.js.map')) continue;
  const map = JSON.parse(readFileSync(join(folder, name), 'utf8'));
  writeFileSync(join(folder, name), JSON.stringify({ ...map, mappings: byLines(map.mappings) }));
}
