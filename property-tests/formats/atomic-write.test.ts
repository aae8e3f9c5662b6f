import { mkdir, mkdtemp, open, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { stageOutputs } from '../../formats/bytes/atomic-write.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';

let folder = '';
const inFolder = (name: string): string => join(folder, name);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-atomic-write-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function* failing(): AsyncGenerator<string> {
  yield 'half';
  throw new Error('the producer broke');
}

describe('stageOutputs', () => {
  test.prop([fc.array(fc.string({ unit: 'grapheme' }))], { numRuns: caseCount(30) })(
    'commits exactly the text that was written',
    async (chunks) => {
      const outputs = await stageOutputs([inFolder('a.csv')]);
      await outputs.write(inFolder('a.csv'), chunks);
      await outputs.commit();
      expect(await readFile(inFolder('a.csv'), 'utf8')).toBe(chunks.join(''));
      expect(await readdir(folder)).toEqual(['a.csv']);
    },
  );

  test('shows no target before the commit, and all of them after', async () => {
    const outputs = await stageOutputs([inFolder('a'), inFolder('b')]);
    await outputs.write(inFolder('a'), ['1']);
    await outputs.write(inFolder('b'), ['2']);
    const before = (await readdir(folder)).filter((name) => !name.startsWith('.'));
    await outputs.commit();
    await outputs.discard();
    expect(before).toEqual([]);
    expect((await readdir(folder)).sort()).toEqual(['a', 'b']);
  });

  test('keeps the old file and leaves no other when the producer fails', async () => {
    await writeFile(inFolder('a'), 'old');
    const outputs = await stageOutputs([inFolder('a')]);
    await expect(outputs.write(inFolder('a'), failing())).rejects.toThrow('the producer broke');
    await outputs.discard();
    await outputs.discard();
    expect(await readFile(inFolder('a'), 'utf8')).toBe('old');
    expect(await readdir(folder)).toEqual(['a']);
  });

  test('stops writing when the signal is aborted, and cleans up at once', async () => {
    const controller = new AbortController();
    const outputs = await stageOutputs([inFolder('a')]);
    const chunks = function* () {
      yield 'x';
      controller.abort(new Error('stopped'));
      yield 'y';
    };
    await expect(outputs.write(inFolder('a'), chunks(), controller.signal)).rejects.toThrow('stopped');
    outputs.discardNow();
    expect(await readdir(folder)).toEqual([]);
    await outputs.discard();
  });

  test.each([
    ['a folder that does not exist', 'missing/a.csv', 'its folder does not exist'],
    ['a folder', 'folder', 'it is a folder'],
    ['a path through a file', 'file/a.csv', 'a part of its path is not a folder'],
    ['a name that is too long', 'x'.repeat(300), 'its name is too long'],
  ])('refuses %s before anything is written, and leaves no temporary file', async (_, name, why) => {
    await mkdir(inFolder('folder'));
    await writeFile(inFolder('file'), '');
    await expect(stageOutputs([inFolder('good'), inFolder(name)])).rejects.toMatchObject({
      code: 'output/unwritable',
      message: expect.stringContaining(why),
    });
    expect((await readdir(folder)).sort()).toEqual(['file', 'folder']);
  });

  test('refuses two names of the same file', async () => {
    await symlink(folder, inFolder('link'));
    const paths = [inFolder('a'), join(folder, 'link', 'a')];
    await expect(stageOutputs(paths)).rejects.toMatchObject({ code: 'output/same-file' });
    expect(await readdir(folder)).toEqual(['link']);
  });

  test('follows a link to its file, and keeps the mode of the replaced file', async () => {
    await writeFile(inFolder('real'), 'old', { mode: 0o600 });
    await symlink(inFolder('real'), inFolder('link'));
    const outputs = await stageOutputs([inFolder('link')]);
    await outputs.write(inFolder('link'), ['new']);
    await outputs.commit();
    expect(await readFile(inFolder('real'), 'utf8')).toBe('new');
    expect((await stat(inFolder('real'))).mode & 0o777).toBe(0o600);
  });

  test('writes a device in place', async () => {
    const outputs = await stageOutputs(['/dev/null']);
    await outputs.write('/dev/null', ['gone']);
    await outputs.commit();
    expect((await stat('/dev/null')).isCharacterDevice()).toBe(true);
  });

  test.runIf(process.platform === 'linux')(
    'appends to a descriptor, and keeps the earlier contents of its file',
    async () => {
      await writeFile(inFolder('log'), 'old\n');
      const log = await open(inFolder('log'), 'a');
      const path = `/dev/fd/${log.fd}`;
      const outputs = await stageOutputs([path]);
      await outputs.write(path, ['new\n']);
      await outputs.commit();
      await log.write('later\n');
      await log.close();
      expect(await readFile(inFolder('log'), 'utf8')).toBe('old\nnew\nlater\n');
      expect(await readdir(folder)).toEqual(['log']);
    },
  );

  test('reports a full disk with a remedy', async () => {
    const outputs = await stageOutputs(['/dev/full']);
    await expect(outputs.write('/dev/full', ['x'])).rejects.toMatchObject({
      code: 'output/write-failed',
      message: expect.stringContaining('no space is left on the device'),
    });
    await outputs.discard();
  });
});
