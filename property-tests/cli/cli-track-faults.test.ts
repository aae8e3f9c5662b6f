import { readdir, readFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { cellTracker, stillBackground } from '../../algorithms/cell-tracking/index.ts';
import { createFailoverBackend } from '../../backends/failover/index.ts';
import { createReferenceBackend } from '../../backends/reference/index.ts';
import { createWorkersBackend } from '../../backends/workers/index.ts';
import { jsonLog } from '../../cli/json-log.ts';
import { runTrack } from '../../cli/track.ts';
import { parseTrackArguments } from '../../cli/track-arguments.ts';
import type { TrackParts } from '../../cli/track-video.ts';
import type { Video } from '../../formats/video/video.ts';
import { Context } from '../../primitives/context/context.ts';
import { someOf, THOROUGH } from '../cases.ts';
import { openWorkshop, type Workshop } from '../support/cli-support.ts';
import { LOST, lostBefore } from '../support/faulty-backend.ts';
import { slow } from '../support/webgpu-support.ts';

let shop: Workshop;
beforeEach(async () => {
  shop = await openWorkshop();
  await shop.write('v.avi', '');
});
afterEach(() => shop.remove());

const [WIDTH, HEIGHT, FRAMES] = [64, 40, THOROUGH ? 6 : 4];

/** A video of two discs that move to the right. One of them starts outside of the frame. */
const videoOfDiscs: Video = {
  ...{ name: 'v.avi', format: 'avi', width: WIDTH, height: HEIGHT, bits: 8, frameCount: FRAMES, notes: [] },
  ...{ frameRate: undefined, pixelSize: undefined },
  async *frames() {
    for (let index = 0; index < FRAMES; index++) {
      const centres = [
        [20 + index, 12],
        [2 * index, 28],
      ] as const;
      const grey = Uint8Array.from({ length: WIDTH * HEIGHT }, (_, i) =>
        centres.reduce((sum, [x, y]) => {
          const distance = Math.hypot((i % WIDTH) - x, Math.floor(i / WIDTH) - y);
          return sum + 80 / (1 + Math.exp(2 * (distance - 4)));
        }, 100),
      );
      yield { index, width: WIDTH, height: HEIGHT, grey };
    }
  },
  close: async () => undefined,
};

/** Runs the command in a given context. Returns the rows of the output, and the codes of the notes. */
async function tracks(openContext: TrackParts<Context>['openContext'], ...words: string[]) {
  const events: { readonly event: string; readonly code?: string }[] = [];
  const log = jsonLog({ write: (text: string) => events.push(JSON.parse(text)) }, { quiet: false });
  const stdout = new Writable({ write: (_, __, done) => done() });
  const [input, out] = [shop.path('v.avi'), shop.path('t.csv')];
  const options = parseTrackArguments([input, '--radius', '3:5:1', '--detect-every', '3', '--out', out, ...words]);
  await runTrack(
    options,
    { openVideo: async () => videoOfDiscs, openContext, loadTracking: async () => ({ cellTracker, stillBackground }) },
    { log, stdout, signal: new AbortController().signal, beforeExit: () => undefined },
  );
  const notes = events.filter(({ event }) => event === 'note').map(({ code }) => code);
  return { csv: await readFile(out, 'utf8'), notes };
}

const onReference = async (): Promise<Context> => new Context(createReferenceBackend());

describe('a backend that is lost while a video is tracked', () => {
  test(
    'does not change the rows, and is noted',
    async () => {
      const whole = await tracks(onReference);
      expect(whole.csv.split('\n').length).toBeGreaterThan(FRAMES);
      expect(whole.notes).toEqual([]);
      let lost = 0;
      for (const at of THOROUGH ? [1, 9, 20, 47, 104] : someOf([1, 9, 20, 47], 1)) {
        const found = await tracks(async (_, onFailover) => {
          const backend = lostBefore(await createWorkersBackend({ workers: 1 }), at);
          const standby = () => createWorkersBackend({ workers: 1 });
          return new Context(createFailoverBackend(backend, { standby, onFailover }));
        });
        expect(found.csv).toBe(whole.csv);
        lost += found.notes.filter((code) => code === 'track/failover').length;
      }
      expect(lost).toBeGreaterThan(THOROUGH ? 1 : 0);
    },
    slow,
  );

  test('without a standby is an error, and leaves no file', async () => {
    const run = tracks(async () => new Context(lostBefore(createReferenceBackend(), 20)), '--plot', shop.path('t.svg'));
    await expect(run).rejects.toMatchObject({ code: LOST });
    expect(await readdir(shop.folder)).toEqual(['v.avi']);
  });
});
