import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect } from 'vitest';
import { makeRunFolder, pack, removeRunFolder, unpack } from '../../queues/results-folder.ts';
import { fc, test } from '../law-test.ts';

const folder = mkdtempSync(join(tmpdir(), 'results-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
/** Whether a process may have a disk of its own here. */
const hasSmallDisks = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', folder]).status === 0;
const run = await makeRunFolder(folder, 'run');
const large = Uint8Array.from({ length: 65537 }, (_, i) => i % 251);

describe('parcels', () => {
  test.prop([fc.uint8Array({ maxLength: 300 })])('bring small bytes without a file', async (bytes) => {
    const before = readdirSync(run);
    const parcel = JSON.parse(JSON.stringify(await pack(bytes, run, 'r')));
    expect(await unpack(parcel, run)).toEqual(bytes);
    expect(readdirSync(run)).toEqual(before);
  });

  test.each([65535, 65536, 65537])('bring %i bytes; more than 65536 are a file', async (length) => {
    const own = await makeRunFolder(folder, `run-${length}`);
    const bytes = large.slice(0, length);
    const parcel = JSON.parse(JSON.stringify(await pack(bytes, own, 'r')));
    expect(Uint8Array.from(await unpack(parcel, own))).toEqual(bytes);
    expect(readdirSync(own)).toHaveLength(length > 65536 ? 1 : 0);
    await removeRunFolder(own);
    expect(readdirSync(folder)).not.toContain(`run-${length}`);
  });

  test('of the same bytes share a file, whoever writes last', async () => {
    const own = await makeRunFolder(folder, 'twins');
    const [first, second] = await Promise.all([pack(large, own, 'r'), pack(large, own, 'r')]);
    expect(first).toEqual(second);
    expect(readdirSync(own)).toHaveLength(1);
  });

  test(`that find no room on their disk say so${hasSmallDisks ? '' : ' (not tested: no disks of its own here)'}`, () => {
    if (!hasSmallDisks) return;
    const program = `
      import { pack } from './queues/results-folder.ts';
      const error = await pack(new Uint8Array(300_000), process.argv[1], 'r').catch((thrown) => thrown);
      console.log(error.code, error.cause.code, error.place.file.startsWith(process.argv[1]));`;
    const own = mkdtempSync(join(folder, 'small-'));
    const script = 'mount -t tmpfs -o size=128k none "$0" && "$@" "$0" && ls -A "$0"';
    const node = [process.execPath, '--import', 'tsx', '--input-type=module', '-e', program];
    const { stdout } = spawnSync('unshare', ['-rm', 'bash', '-c', script, own, ...node], { encoding: 'utf8' });
    expect(stdout).toBe('graph/remote-disk ENOSPC true\n');
  });

  test('of truncated, changed and missing files are refused', async () => {
    const own = await makeRunFolder(folder, 'damage');
    const parcel = (await pack(large, own, 'r')) as { readonly file: string };
    const path = join(own, parcel.file);
    const refused = { code: 'graph/remote-file', place: { file: path } };
    truncateSync(path, large.length - 1);
    await expect(unpack(parcel, own)).rejects.toMatchObject(refused);
    writeFileSync(path, new Uint8Array(large.length));
    await expect(unpack(parcel, own)).rejects.toMatchObject(refused);
    rmSync(path);
    await expect(unpack(parcel, own)).rejects.toMatchObject(refused);
  });

  test.prop([fc.anything()])('that are none are refused', async (value) => {
    fc.pre(typeof (value as { inline?: unknown } | null | undefined)?.inline !== 'string');
    await expect(unpack(value, run)).rejects.toMatchObject({ code: 'graph/remote-parcel' });
  });

  test.each([
    { file: '../../etc/passwd', hash: 'passwd', length: 3 },
    { file: `../x.${'a'.repeat(64)}`, hash: 'a'.repeat(64), length: 3 },
    { file: `.x.${'a'.repeat(64)}`, hash: 'a'.repeat(64), length: 3 },
    { file: `x.${'A'.repeat(64)}`, hash: 'A'.repeat(64), length: 3 },
    { file: `x.${'a'.repeat(64)}`, hash: 'b'.repeat(64), length: 3 },
    { file: `x.${'a'.repeat(64)}`, hash: 'a'.repeat(64), length: -0.5 },
    { inline: 'a'.repeat(100_000) },
  ])('never lead out of the folder, and are bounded: %o', async (value) => {
    await expect(unpack(value, run)).rejects.toMatchObject({ code: 'graph/remote-parcel' });
  });

  test('cannot bring a removed folder back', async () => {
    const own = await makeRunFolder(folder, 'gone');
    await removeRunFolder(own);
    await expect(pack(large, own, 'r')).rejects.toMatchObject({ code: 'graph/remote-write' });
    expect(readdirSync(folder)).not.toContain('gone');
  });

  test('need a folder', async () => {
    await expect(makeRunFolder(join(folder, 'none'), 'run')).rejects.toMatchObject({ code: 'graph/remote-folder' });
  });
});
