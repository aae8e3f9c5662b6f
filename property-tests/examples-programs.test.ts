import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { promisedBy } from './example-output.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const programs = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.ts'));

describe('the programs in examples/', () => {
  test.each(programs)('%s prints what it ends in', async (program) => {
    const promised = promisedBy(readFileSync(join(root, 'examples', program), 'utf8'));
    expect(promised).not.toBe('');
    const { stdout, stderr } = await run(process.execPath, ['--import', 'tsx', `examples/${program}`], { cwd: root });
    expect([stdout, stderr]).toEqual([promised, '']);
  });
});
