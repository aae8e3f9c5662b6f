import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const programs = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.ts'));

/** The comment that a program ends in: what it prints. */
function promisedBy(program: string): string {
  const source = readFileSync(join(root, 'examples', program), 'utf8');
  const [comment = ''] = /(?:^\/\/ .*\n)+$/m.exec(source.slice(source.lastIndexOf('\n\n'))) ?? [];
  return comment.replaceAll(/^\/\/ /gm, '');
}

describe('the programs in examples/', () => {
  test.each(programs)('%s prints what it ends in', async (program) => {
    const promised = promisedBy(program);
    expect(promised).not.toBe('');
    const { stdout, stderr } = await run(process.execPath, ['--import', 'tsx', `examples/${program}`], { cwd: root });
    expect([stdout, stderr]).toEqual([promised, '']);
  });
});
