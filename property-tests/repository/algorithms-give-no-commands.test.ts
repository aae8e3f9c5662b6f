import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const algorithms = fileURLToPath(new URL('../../algorithms', import.meta.url));

/** A pattern that matches uses of a backend, except uses of the backend's `limits`, `walkRows` and `name`. */
const COMMAND = /\.backend\b(?!\.(limits|walkRows|name)\b)|\{[^{}]*\bbackend\b[^{}]*\} = /;

// `npm run check:imports` cannot find commands to a backend, because a context gives access to its backend without an
// import.
test('algorithms only query properties of a backend, and issue no commands', () => {
  const files = readdirSync(algorithms, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  expect(files).not.toEqual([]);
  const commanding = files.filter((name) => COMMAND.test(readFileSync(join(algorithms, name), 'utf8')));
  expect(commanding).toEqual([]);
});
