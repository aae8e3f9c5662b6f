import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stageFolder } from '../../formats/bytes/staged-folder.ts';
import { temporaryName } from '../../formats/bytes/temporary-files.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-staged-'));
});
afterEach(() => rm(folder, { recursive: true }));

const target = (): string => join(folder, 'out');
/** The names in the target's folder that a user sees, which are those that are not hidden. */
const shown = async (): Promise<string[]> => (await readdir(target())).filter((name) => !name.startsWith('.')).sort();

/** A process id that no process has, because it exceeds the maximum. */
const NO_PROCESS = 4_194_305;

describe('stageFolder', () => {
  for (const exists of [false, true]) {
    test(`renames all files into place at once, in ${exists ? 'an existing' : 'a new'} folder`, async () => {
      if (exists) await mkdir(target());
      const staged = await stageFolder(target());
      await staged.write('a.txt', 'a');
      await staged.write('b.bin', Uint8Array.of(1, 2));
      expect(await shown()).toEqual([]);
      await staged.commit();
      expect(await readdir(target())).toEqual(['a.txt', 'b.bin']);
      expect(await readFile(join(target(), 'a.txt'), 'utf8')).toBe('a');
      await staged.discard();
      expect(await shown()).toEqual(['a.txt', 'b.bin']);
    });

    for (const way of ['discard', 'discardNow'] as const) {
      test(`${way} leaves a folder that ${exists ? 'is empty' : 'is missing'} as it was`, async () => {
        if (exists) await mkdir(target());
        const staged = await stageFolder(target());
        await staged.write('a.txt', 'a');
        await staged[way]();
        await staged[way]();
        expect(await readdir(folder)).toEqual(exists ? ['out'] : []);
        if (exists) expect(await readdir(target())).toEqual([]);
      });
    }
  }

  test('refuses a folder with files, a file, and a missing parent folder, and leaves them unchanged', async () => {
    await mkdir(target());
    await writeFile(join(target(), 'mine.txt'), '');
    await expect(stageFolder(target())).rejects.toMatchObject({ code: 'output/not-empty' });
    expect(await readdir(target())).toEqual(['mine.txt']);
    await expect(stageFolder(join(target(), 'mine.txt'))).rejects.toMatchObject({ code: 'output/unwritable' });
    await expect(stageFolder(join(folder, 'none', 'out'))).rejects.toMatchObject({ code: 'output/unwritable' });
    expect(await readdir(folder)).toEqual(['out']);
  });

  test('removes leftovers of a dead process', async () => {
    await mkdir(target());
    const orphan = temporaryName().replace(`-${process.pid}-`, `-${NO_PROCESS}-`);
    await mkdir(join(target(), orphan));
    await writeFile(join(target(), orphan, 'half.png'), '');
    const staged = await stageFolder(target());
    await staged.commit();
    expect(await readdir(target())).toEqual([]);
  });
});
