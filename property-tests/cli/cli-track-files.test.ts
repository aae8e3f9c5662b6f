import { spawn } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, truncate } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeAvi } from '../../bench/leukocyte/avi-writer.ts';
import { encodePng } from '../../formats/charts/png-writer.ts';
import { builtCommand } from '../support/built-package.ts';
import { openWorkshop, type Workshop } from '../support/cli-support.ts';

const BIN = await builtCommand();
const [WIDTH, HEIGHT, FRAMES] = [72, 56, 9];
const SMALL = ['--radius', '3:5:1', '--backend', 'workers', '--workers', '1'];

/** Draws discs of radius 4, which differ by `contrast` from a background of `ground`. */
function drawDiscsAt(centres: readonly (readonly [x: number, y: number])[], ground = 100, contrast = 80): Float64Array {
  return Float64Array.from({ length: WIDTH * HEIGHT }, (_, i) =>
    centres.reduce((sum, [x, y]) => {
      const distance = Math.hypot((i % WIDTH) - x, Math.floor(i / WIDTH) - y);
      return sum + contrast / (1 + Math.exp(2 * (distance - 4)));
    }, ground),
  );
}

/**
 * Draws frame `index` of a video of two discs. The discs move to the right by one pixel per frame, and differ by
 * `contrast` from a background of `ground`.
 */
function drawDiscs(index: number, ground: number, contrast: number): Float64Array {
  return drawDiscsAt(
    [
      [20 + index, 16],
      [30 + index, 40],
    ],
    ground,
    contrast,
  );
}

const greys = (ground = 100, contrast = 80, frames = FRAMES): Uint8Array[] =>
  Array.from({ length: frames }, (_, index) => Uint8Array.from(drawDiscs(index, ground, contrast), Math.round));

let shop: Workshop;
beforeAll(async () => {
  shop = await openWorkshop();
  const format = { width: WIDTH, height: HEIGHT, frameRate: 20 };
  await writeAvi(shop.path('v.avi'), format, greys());
  await writeAvi(shop.path('one.avi'), format, greys(100, 80, 1));
  await writeAvi(shop.path('empty.avi'), format, greys(100, 0));
  await writeAvi(shop.path('cut.avi'), format, greys());
  const { length } = await readFile(shop.path('cut.avi'));
  await truncate(shop.path('cut.avi'), length - 4 * WIDTH * HEIGHT);
});
afterAll(() => shop.remove());

const there = async (name: string): Promise<boolean> => (await readdir(shop.folder)).includes(name);
const track = (...words: string[]) => shop.quadrille(['track', ...words]);
const linesOf = (csv: string): string[] => csv.trimEnd().split('\n');

describe('quadrille track', () => {
  test('of an AVI uses its frame rate, and gives speeds in µm/s with --pixel-size', async () => {
    const { exitCode, stdout, stderr } = await track('@v.avi', '--pixel-size', '0.5', ...SMALL);
    expect(exitCode).toBe(0);
    const rows = linesOf(stdout);
    expect(rows[0]).toBe('track,frame,time_s,x_px,y_px,radius_px,score,speed_um_per_s');
    expect(rows).toHaveLength(1 + 2 * FRAMES);
    for (const row of rows.slice(3)) {
      const [, frame, time, , , , , speed] = row.split(',').map(Number);
      expect(time).toBe(frame! / 20);
      expect(Math.abs(speed! - 10)).toBeLessThan(4);
    }
    expect(stderr).toContain('2 tracks in 9 frames of');
    expect(stderr).not.toContain('--pixel-size');
  });

  test('writes the same rows with any other outputs, and all figures as JSON', async () => {
    const { stdout } = await track('@v.avi', ...SMALL, '--quiet');
    const words =
      '--out @all.csv --plot @all.svg --report @all.html --trace @all.json --overlay @all --ctc @result --json';
    const ending = await track('@v.avi', ...SMALL, ...words.split(' '));
    expect(ending.exitCode).toBe(0);
    expect(await readFile(shop.path('all.csv'), 'utf8')).toBe(stdout);
    expect(JSON.parse(ending.stdout)).toMatchObject({
      format: 'avi',
      frames: FRAMES,
      frameCount: FRAMES,
      tracks: 2,
      partial: false,
    });
    expect(await readdir(shop.path('all'))).toHaveLength(FRAMES);
    expect(await readFile(shop.path('result/res_track.txt'), 'utf8')).toBe(
      `1 0 ${FRAMES - 1} 0\n2 0 ${FRAMES - 1} 0\n`,
    );
    const page = await readFile(shop.path('all.html'), 'utf8');
    for (const node of ['read', 'detect', 'track', 'write']) expect(page).toContain(`>${node}<`);
  });

  test('of one frame gives cells without speeds', async () => {
    const { exitCode, stdout, stderr } = await track('@one.avi', ...SMALL);
    expect([exitCode, linesOf(stdout).length]).toEqual([0, 3]);
    for (const row of linesOf(stdout).slice(1)) expect(row).toMatch(/,$/);
    expect(stderr).toContain('2 tracks in 1 frame of');
  });

  test('of a video without cells writes a header, and notes it', async () => {
    const { exitCode, stdout, stderr } = await track('@empty.avi', ...SMALL, '--plot', '@none.svg', '--out', '-');
    expect([exitCode, linesOf(stdout).length]).toEqual([0, 1]);
    expect(stderr).toContain('note: No cell was found in any frame.');
  });

  test('tries no circle nearer to an edge than the largest radius plus 2, and tracks up to 5 pixels from an edge', async () => {
    const frames = Array.from({ length: 14 }, (_, t) =>
      Uint8Array.from(
        drawDiscsAt([
          [58 + t, 16],
          [2.4, 40],
        ]),
        Math.round,
      ),
    );
    await writeAvi(shop.path('edges.avi'), { width: WIDTH, height: HEIGHT, frameRate: 20 }, frames);
    const { stdout } = await track('@edges.avi', ...SMALL, '--detect-every', '1');
    const places = linesOf(stdout)
      .slice(1)
      .map((row) => row.split(',').map(Number)[3]!);
    const edge = WIDTH - 1;
    expect(Math.max(...places)).toBeGreaterThan(edge - 5 - 2);
    expect(Math.max(...places)).toBeLessThanOrEqual(edge - 5);
    expect(Math.min(...places)).toBeGreaterThan(7);
    const wide = await track('@v.avi', ...SMALL.slice(2), '--radius', '3:20:1');
    expect(linesOf(wide.stdout)).toHaveLength(1);
    expect(wide.stderr).toContain('no circle is tried nearer to an edge of the frame than 22 pixels');
  });

  test('finds only cells of the sign given by --sign', async () => {
    const found = async (...words: string[]) => linesOf((await track('@v.avi', ...SMALL, ...words)).stdout).length - 1;
    expect([await found('--sign', 'bright'), await found('--sign', 'dark')]).toEqual([2 * FRAMES, 0]);
  });

  test('of a truncated video writes nothing, and suggests how to keep the frames before', async () => {
    const { exitCode, stderr } = await track('@cut.avi', ...SMALL, '--out', '@cut.csv', '--ctc', '@cut');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('The video is cut off.');
    expect(stderr).toContain('--on-error keep');
    expect([await there('cut.csv'), await there('cut')]).toEqual([false, false]);
  });

  test('with --on-error keep writes the results of the frames before the cut', async () => {
    const { stdout } = await track('@v.avi', ...SMALL);
    const kept = await track('@cut.avi', ...SMALL, '--on-error', 'keep');
    expect(kept.exitCode).toBe(0);
    expect(stdout.startsWith(kept.stdout)).toBe(true);
    expect(linesOf(kept.stdout).length).toBeGreaterThan(1 + 2 * 3);
    expect(kept.stderr).toMatch(/Partial: the run ended after \d of 9 frames\./);
  });

  test('reports the frame at which the size changes', async () => {
    const png = (width: number, height: number) =>
      encodePng({ width, height, channels: 1, data: new Uint8Array(width * height).fill(90) });
    await mkdir(shop.path('frames'));
    await shop.write('frames/f1.png', await png(WIDTH, HEIGHT));
    await shop.write('frames/f2.png', await png(WIDTH, HEIGHT));
    await shop.write('frames/f10.png', await png(WIDTH, HEIGHT - 1));
    const { exitCode, stderr } = await track('@frames', ...SMALL, '--out', '@changed.csv');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('f10.png');
    expect(await there('changed.csv')).toBe(false);
  });

  test('names the option that raises the limit of cells', async () => {
    const { exitCode, stderr } = await track('@v.avi', ...SMALL, '--max-cells', '1');
    expect(exitCode).toBe(1);
    expect(stderr).toContain('--max-cells');
  });

  test('refuses folders with files in them, and outputs that are its input', async () => {
    await track('@one.avi', ...SMALL, '--overlay', '@again');
    expect(await track('@one.avi', ...SMALL, '--overlay', '@again')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('has files in it'),
    });
    expect(await track('@one.avi', ...SMALL, '--out', '@one.avi')).toMatchObject({ exitCode: 2 });
    expect(await track('@one.avi', ...SMALL, '--ctc', '@missing/folder')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('its folder does not exist'),
    });
  });

  test.each([
    [['--overlay', '@same', '--ctc', '@same/'], '--overlay same and --ctc same/ name the same folder'],
    [['--overlay', '@same', '--ctc', '@linked'], '--overlay same and --ctc linked name the same folder'],
    [['--overlay', '@new/in', '--ctc', '@new'], '--overlay new/in lies in the folder of --ctc new'],
    [['--ctc', '@same', '--out', '@same/t.csv'], '--out same/t.csv lies in the folder of --ctc same'],
    [['--overlay', '@new.csv', '--out', '@new.csv'], '--overlay new.csv and --out new.csv name the same folder'],
  ])('%j are refused as conflicting paths', async (words, message) => {
    await mkdir(shop.path('same'), { recursive: true });
    if (!(await there('linked'))) await symlink(shop.path('same'), shop.path('linked'));
    const before = await readdir(shop.folder);
    const { exitCode, stderr } = await track('@one.avi', ...SMALL, ...words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    expect([await readdir(shop.folder), await readdir(shop.path('same'))]).toEqual([before, []]);
  });

  test('folders whose names share a prefix do not conflict', async () => {
    const { exitCode } = await track(
      '@one.avi',
      ...SMALL,
      '--overlay',
      '@alike',
      '--ctc',
      '@alike-2',
      '--out',
      '@alike.csv',
    );
    expect(exitCode).toBe(0);
  });

  test.each([
    [['@v.avi', '--radios', '8:20:2'], 'Did you mean --radius?'],
    [['@v.avi', '--radius', '8:20'], '--radius 8:20 is not of the form lo:hi:step.'],
    [['@v.avi', '--radius', '0:20:2'], 'gives no radii from 1 to 256 pixels.'],
    [['@v.avi', '--radius', '8:x:2'], "--radius: 'x' is not a finite number."],
    [['@v.avi', '--pixel-size', '0.4um'], "'0.4um' is not a finite number. Write the number without a unit"],
    [['@v.avi', '--frame-rate', '29,97'], 'with a point before the decimals'],
    [['@v.avi', '--direction', 'right'], '--direction right is not a direction x,y. Write it as --direction 1,0'],
    [['@v.avi', '--direction', '0,0'], '--direction 0,0 is not a direction x,y.'],
    [['@v.avi', '--threshold', '-1'], '--threshold must be at least 0; got -1.'],
    [['@v.avi', '--frame-rate', '0'], '--frame-rate 0 is not above 0.'],
    [['@v.avi', '--detect-every', '0'], '--detect-every 0 is not a whole number of at least 1.'],
    [['@v.avi', '--channel', 'gray'], 'Did you mean grey?'],
    [['@v.avi', '--json', '--out', '-'], 'cannot both write to stdout'],
    [['@v.avi', '--overlay', '-'], '--overlay writes a folder, so it cannot write to stdout.'],
    [['@v.avi', '--plot', 'tracks.png'], '--plot tracks.png would hold SVG'],
    [['@v.avi', '--out', 'tracks.xlsx'], '--out tracks.xlsx would hold CSV'],
    [['-', '--background', 'still'], 'standard input can be read only once'],
    [[], 'VIDEO is missing.'],
    [['@missing.avi'], 'missing.avi'],
  ])('%j is reported before anything is done', async (words, message) => {
    const { exitCode, stdout, stderr } = await track(...words);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });

  test('has a help page, and a line in the main help', async () => {
    const { exitCode, stdout } = await track('--help');
    expect(exitCode).toBe(0);
    for (const option of ['--radius', '--overlay', '--ctc', '--backend', '--memory']) expect(stdout).toContain(option);
    expect(stdout).toMatch(
      /--plot and --report draw with [^.]*npm\s+install\s+@observablehq\/plot@[\d.]+\s+linkedom@[\d.]+$/m,
    );
    expect(stdout).toContain('No circle is tried nearer to an edge of the frame');
    expect((await shop.quadrille(['--help'])).stdout).toContain('quadrille track ');
  });
});

/** Starts the command, which reads a YUV4MPEG2 video from its stdin. */
function startOnPipe(...words: string[]) {
  const child = spawn(process.execPath, [BIN, 'track', '-', ...SMALL, ...words], { cwd: shop.folder });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  // If the process ends early, the pipe is closed, which is no error here.
  child.stdin.on('error', () => undefined);
  child.stdin.write(`YUV4MPEG2 W${WIDTH} H${HEIGHT} F20:1 Cmono\n`);
  const ended = new Promise<{ exitCode: number | null; stdout: string; stderr: string }>((resolve) => {
    child.on('close', (exitCode) => resolve({ exitCode, stdout, stderr }));
  });
  const give = (frame: Uint8Array): void => {
    child.stdin.write('FRAME\n');
    child.stdin.write(frame);
  };
  return { child, give, ended, stdout: () => stdout };
}

describe('Y4M on standard input', () => {
  test('gives the rows of the same frames in a file', async () => {
    const { stdout } = await track('@v.avi', ...SMALL);
    const { child, give, ended } = startOnPipe();
    for (const frame of greys()) give(frame);
    child.stdin.end();
    const ending = await ended;
    expect([ending.exitCode, ending.stdout]).toEqual([0, stdout]);
    expect(ending.stderr).toContain('of standard input');
  });

  test('is refused when standard input is a terminal', async () => {
    const before = Object.getOwnPropertyDescriptor(process.stdin, 'isTTY');
    Object.defineProperty(process.stdin, 'isTTY', { value: true, configurable: true });
    try {
      const { exitCode, stderr } = await track('-', ...SMALL);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining('Standard input is a terminal')]);
      expect(stderr).toContain('ffmpeg -i VIDEO');
    } finally {
      if (before === undefined) delete (process.stdin as { isTTY?: boolean }).isTTY;
      else Object.defineProperty(process.stdin, 'isTTY', before);
    }
  });

  test('that does not end is tracked until Ctrl-C, which keeps the results so far', async () => {
    const { child, give, ended, stdout } = startOnPipe('--ctc', 'stopped', '--plot', 'stopped.svg');
    for (const frame of greys()) give(frame);
    await expect.poll(() => linesOf(stdout()).length, { timeout: 20_000 }).toBe(1 + 2 * FRAMES);
    child.kill('SIGINT');
    const { exitCode, stderr } = await ended;
    expect(exitCode).toBe(130);
    expect(stderr).toContain(`Partial: the run ended after ${FRAMES} frames.`);
    expect(stderr).toContain(`Stopped by SIGINT; the first ${FRAMES} frames are kept in stopped.svg, stopped.`);
    expect(await readdir(shop.path('stopped'))).toHaveLength(FRAMES + 1);
    expect(await there('stopped.svg')).toBe(true);
  });
});
