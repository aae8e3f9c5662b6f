import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');

test('the reference of the API builds without a warning', async () => {
  // Warnings are errors to typedoc.json, and make typedoc exit with 4.
  const { stdout, stderr } = await run(process.execPath, ['node_modules/typedoc/bin/typedoc', '--emit', 'none'], {
    cwd: root,
  });
  expect(`${stdout}${stderr}`).not.toMatch(/warning|error/i);
}, 300_000);
