import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const algorithms = fileURLToPath(new URL('../../algorithms', import.meta.url));

/** Anything else of a backend than how much it can hold and what suits its device. */
const COMMAND = /\.backend\b(?!\.(limits|walkRows|name)\b)|\{[^{}]*\bbackend\b[^{}]*\} = /;

// What files import is checked by `npm run check:imports`; a context has its backend without an import.
test('algorithms ask what a backend is like, and leave its commands to primitives', () => {
  const files = readdirSync(algorithms, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  expect(files).not.toEqual([]);
  const commanding = files.filter((name) => COMMAND.test(readFileSync(join(algorithms, name), 'utf8')));
  expect(commanding).toEqual([]);
});
