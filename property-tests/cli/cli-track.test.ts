import { readdir, readFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { TrackedFrame } from '../../algorithms/cell-tracking/tracks.ts';
import { Interrupted } from '../../cli/interrupt.ts';
import { jsonLog } from '../../cli/json-log.ts';
import type { RunContext, Surroundings } from '../../cli/run-support.ts';
import { runTrack } from '../../cli/track.ts';
import { parseTrackArguments } from '../../cli/track-arguments.ts';
import type { TrackParts } from '../../cli/track-video.ts';
import { openVideo } from '../../formats/video/open-video.ts';
import type { Video } from '../../formats/video/video.ts';
import { CapacityError, FormatError } from '../../primitives/checks/errors.ts';
import { tiffBytes } from '../formats/video/video-support.ts';
import { type CellRow, trackedFrame } from '../support/cell-tracks-support.ts';
import { openWorkshop, type Workshop } from '../support/cli-support.ts';

let shop: Workshop;
beforeEach(async () => {
  shop = await openWorkshop();
  await shop.write('v.avi', 'a video');
});
afterEach(() => shop.remove());

const [WIDTH, HEIGHT] = [64, 48];

interface Changes {
  readonly frames?: number;
  readonly video?: Partial<Video>;
  readonly cells?: (index: number) => readonly CellRow[];
  /** Called before each frame is read, with its index. */
  readonly onFrame?: (index: number) => void | Promise<void>;
  readonly onTrack?: (index: number) => void | Promise<void>;
}

const twoCells = (index: number): CellRow[] => [
  { track: 1, x: 10 + index, y: 20, speed: index === 0 ? Number.NaN : 1 },
  { track: 2, x: 40, y: 30.5, speed: index === 0 ? Number.NaN : 0.25 },
];

/** Replacements for the command's parts: a video of `frames` frames, and a tracker that finds `cells` in each frame. */
function parts(events: string[], { frames = 3, video, cells = twoCells, onFrame, onTrack }: Changes = {}) {
  const made: TrackParts<RunContext> = {
    openVideo: async (name, { channel }) => {
      events.push(`open ${channel} video`);
      return {
        ...{ name, format: 'avi', width: WIDTH, height: HEIGHT, bits: 8, frameCount: frames, notes: [] },
        ...{ frameRate: undefined, pixelSize: undefined },
        async *frames() {
          for (let index = 0; index < frames; index++) {
            await onFrame?.(index);
            yield { index, width: WIDTH, height: HEIGHT, grey: new Uint8Array(WIDTH * HEIGHT).fill(100 + index) };
          }
        },
        close: async () => void events.push('close video'),
        ...video,
      } as Video;
    },
    openContext: async () => {
      events.push('open context');
      return {
        backend: { name: 'reference' },
        abort: () => void events.push('abort context'),
        close: async () => void events.push('close context'),
      };
    },
    loadTracking: async () => ({
      cellTracker: (_, options) => {
        events.push(`track ${JSON.stringify(options)}`);
        return {
          detect: async () => undefined,
          track: async (_, index): Promise<TrackedFrame> => {
            await onTrack?.(index);
            return trackedFrame(index, cells(index));
          },
          close: async () => void events.push('close tracker'),
        };
      },
      stillBackground: async (_, samples) => {
        events.push(`background of ${samples.map((frame) => (frame as unknown as { index: number }).index)}`);
        return samples[0]!;
      },
    }),
  };
  return made;
}

interface Told {
  readonly stdout: () => string;
  readonly log: () => Record<string, unknown>[];
  readonly surroundings: Surroundings;
}

function surroundings(signal = new AbortController().signal): Told {
  const stderr: string[] = [];
  let out = '';
  const stdout = new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      out += chunk;
      done();
    },
  });
  const log = jsonLog({ write: (text: string) => stderr.push(text) }, { quiet: false });
  return {
    stdout: () => out,
    log: () =>
      stderr
        .join('')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    surroundings: { log, stdout, signal, beforeExit: () => undefined },
  };
}

const options = (...words: string[]) =>
  parseTrackArguments([shop.path('v.avi'), ...words.map((word) => word.replace(/^@/, `${shop.folder}/`))]);
const files = async (): Promise<string[]> => (await readdir(shop.folder)).filter((name) => name !== 'v.avi').sort();

describe('runTrack', () => {
  test('writes every output, and closes what it opened', async () => {
    const events: string[] = [];
    const recorded = surroundings();
    const words = '--out @t.csv --plot @t.svg --report @t.html --trace @t.json --overlay @over --ctc @ctc --json';
    await runTrack(options(...words.split(' ')), parts(events), recorded.surroundings);
    expect(await files()).toEqual(['ctc', 'over', 't.csv', 't.html', 't.json', 't.svg']);
    expect((await readdir(shop.path('over'))).sort()).toEqual(['frame000.png', 'frame001.png', 'frame002.png']);
    expect((await readdir(shop.path('ctc'))).sort()).toEqual([
      'mask000.tif',
      'mask001.tif',
      'mask002.tif',
      'res_track.txt',
    ]);
    expect(await readFile(shop.path('ctc/res_track.txt'), 'utf8')).toBe('1 0 2 0\n2 0 2 0\n');
    expect(await readFile(shop.path('t.csv'), 'utf8')).toBe(
      'track,frame,time_frames,x_px,y_px,radius_px,score,speed_px_per_frame\n' +
        '1,0,0,10,20,5,-2,\n2,0,0,40,30.5,5,-2,\n1,1,1,11,20,5,-2,1\n2,1,1,40,30.5,5,-2,0.25\n' +
        '1,2,2,12,20,5,-2,1\n2,2,2,40,30.5,5,-2,0.25\n',
    );
    expect(JSON.parse(recorded.stdout())).toMatchObject({ frames: 3, partial: false, tracks: 2, cells: 6 });
    expect(events.slice(-3)).toEqual(['close tracker', 'close context', 'close video']);
  });

  test('of ImageJ scales speeds and times by the unit of its frame interval, and by --frame-rate before it', async () => {
    const described = async (lines: string, ...words: string[]) => {
      const fields = [
        { tag: 'imageDescription', type: 'ascii', text: `ImageJ=1.54f\nunit=micron\n${lines}\n` },
        { tag: 'xResolution', type: 'rational', values: [1 / 0.432] },
      ] as const;
      const frames = [new Uint8Array(WIDTH * HEIGHT)];
      await shop.write('v.tif', tiffBytes({ width: WIDTH, height: HEIGHT, frames }, { fields }));
      const video = await openVideo(shop.path('v.tif'));
      await video.close();
      const { frameRate, pixelSize, notes } = video;
      const recorded = surroundings();
      const made = parts([], { frames: 2, video: { frameRate, pixelSize, notes } });
      await runTrack(options('--out', '@t.csv', '--json', ...words), made, recorded.surroundings);
      const [, , , row] = (await readFile(shop.path('t.csv'), 'utf8')).split('\n');
      const [, , time, , , , , speed] = row!.split(',').map(Number);
      const { speeds, ...figures } = JSON.parse(recorded.stdout());
      const codes = notes.map(({ code }) => code);
      return { time: time!, speed: speed!, unit: speeds.unit, max: speeds.max, rate: figures.frameRate, codes };
    };
    for (const lines of ['finterval=40\ntunit=ms', 'finterval=0.000667\ntunit=min']) {
      const { time, speed, unit, max } = await described(lines);
      expect([time.toFixed(3), speed.toFixed(1), max.toFixed(1), unit]).toEqual(['0.040', '10.8', '10.8', 'µm/s']);
    }
    const unknown = { time: 1, speed: 1, unit: 'px/frame', rate: null, codes: ['video/unknown-time-unit'] };
    expect(await described('finterval=40\ntunit=frame')).toMatchObject(unknown);
    for (const lines of ['finterval=40\ntunit=ms', 'finterval=40\ntunit=frame'])
      expect(await described(lines, '--frame-rate', '10')).toMatchObject({ time: 0.1, rate: 10, unit: 'µm/s' });
  });

  test('prints rows to stdout when no output is given', async () => {
    const recorded = surroundings();
    await runTrack(options('--frame-rate', '25', '--pixel-size', '2'), parts([], { frames: 2 }), recorded.surroundings);
    expect(recorded.stdout()).toBe(
      'track,frame,time_s,x_px,y_px,radius_px,score,speed_um_per_s\n' +
        '1,0,0,10,20,5,-2,\n2,0,0,40,30.5,5,-2,\n1,1,0.04,11,20,5,-2,50\n2,1,0.04,40,30.5,5,-2,12.5\n',
    );
  });

  test('keeps the results of finished frames when it is interrupted, and reports that', async () => {
    const stop = new AbortController();
    const recorded = surroundings(stop.signal);
    const onTrack = async (index: number): Promise<void> => {
      if (index < 5) return;
      await expect.poll(() => recorded.stdout().split('\n').length, { interval: 5 }).toBe(1 + 2 * 5 + 1);
      stop.abort(new Interrupted('SIGINT'));
    };
    const words = ['--ctc', '@ctc', '--plot', '@t.svg'];
    const run = runTrack(options(...words), parts([], { frames: 100, onTrack }), recorded.surroundings);
    await expect(run).rejects.toMatchObject({
      code: 'run/interrupted',
      exitCode: 130,
      message: expect.stringMatching(/^Stopped by SIGINT; the first 5 of 100 frames are kept in .*t\.svg, .*ctc\.$/),
    });
    expect(await files()).toEqual(['ctc', 't.svg']);
    expect(await readFile(shop.path('ctc/res_track.txt'), 'utf8')).toBe('1 0 4 0\n2 0 4 0\n');
    expect(recorded.log().find(({ event }) => event === 'result')).toMatchObject({ partial: true, frames: 5 });
  });

  test('leaves nothing when it is interrupted before the first frame is done', async () => {
    const stop = new AbortController();
    const onTrack = async (): Promise<void> => stop.abort(new Interrupted('SIGINT'));
    const run = runTrack(
      options('--out', '@t.csv', '--overlay', '@over'),
      parts([], { onTrack }),
      surroundings(stop.signal).surroundings,
    );
    await expect(run).rejects.toMatchObject({ message: 'Stopped by SIGINT; nothing was written.' });
    expect(await files()).toEqual([]);
  });

  const broken = (index: number): void => {
    if (index === 4) throw new FormatError('avi/truncated', 'The video ends within a frame.');
  };

  test('leaves nothing when a frame cannot be read, and suggests how to keep the others', async () => {
    const recorded = surroundings();
    const run = runTrack(
      options('--out', '@t.csv', '--ctc', '@ctc'),
      parts([], { frames: 6, onFrame: broken }),
      recorded.surroundings,
    );
    await expect(run).rejects.toMatchObject({ code: 'avi/truncated' });
    expect(await files()).toEqual([]);
  });

  test('with --on-error keep writes the results of the frames before', async () => {
    const recorded = surroundings();
    const words = ['--out', '@t.csv', '--on-error', 'keep', '--json'];
    await runTrack(options(...words), parts([], { frames: 6, onFrame: broken }), recorded.surroundings);
    expect((await readFile(shop.path('t.csv'), 'utf8')).trim().split('\n')).toHaveLength(1 + 2 * 4);
    expect(JSON.parse(recorded.stdout())).toMatchObject({
      frames: 4,
      partial: true,
      notes: [{ code: 'track/ended-early', message: expect.stringContaining('The video ends within a frame.') }],
    });
  });

  test('notes that there is no cell, and writes only the header', async () => {
    const recorded = surroundings();
    await runTrack(options('--plot', '@t.svg', '--out', '-'), parts([], { cells: () => [] }), recorded.surroundings);
    expect(recorded.stdout()).toBe('track,frame,time_frames,x_px,y_px,radius_px,score,speed_px_per_frame\n');
    expect(recorded.log()).toContainEqual(expect.objectContaining({ event: 'note', code: 'track/no-cells' }));
    expect(await readFile(shop.path('t.svg'), 'utf8')).not.toContain('Speeds');
  });

  test('names the option that raises the limit when there are too many cells', async () => {
    const onTrack = (): never => {
      throw new CapacityError('capacity/exceeded', 'Too many.', { expected: 7, got: 9 });
    };
    const run = runTrack(options('--max-cells', '7'), parts([], { onTrack }), surroundings().surroundings);
    await expect(run).rejects.toMatchObject({
      code: 'track/too-many-cells',
      remedy: expect.stringContaining('--max-cells'),
    });
  });

  test('takes the background from equally spaced frames, at most as many as fit', async () => {
    const events: string[] = [];
    const words = ['--background', 'still', '--out', '@t.csv'];
    await runTrack(options(...words), parts(events, { frames: 200 }), surroundings().surroundings);
    expect(events).toContain(`background of ${Array.from({ length: 50 }, (_, i) => 4 * i)}`);
    expect(events.filter((event) => event === 'open grey video')).toHaveLength(2);
    expect(events.filter((event) => event === 'close video')).toHaveLength(2);
  });

  test('passes the options to the tracker', async () => {
    const events: string[] = [];
    const words = '--radius 10:40:10 --threshold 2.5 --direction 0,-1 --detect-every 4 --max-cells 9 --out @t.csv';
    await runTrack(options(...words.split(' ')), parts(events), surroundings().surroundings);
    expect(JSON.parse(events.find((event) => event.startsWith('track'))!.slice(6))).toEqual({
      detection: { radii: [10, 20, 30, 40], threshold: 2.5, maxCells: 9 },
      tracking: { direction: { x: 0, y: -1 } },
      detectEvery: 4,
    });
  });

  test('refuses frames too large for memory before a backend is opened', async () => {
    const events: string[] = [];
    const run = runTrack(options('--memory', '10kB'), parts(events), surroundings().surroundings);
    await expect(run).rejects.toMatchObject({ code: 'memory/limit' });
    expect(events).toEqual(['open grey video', 'close video']);
  });
});
