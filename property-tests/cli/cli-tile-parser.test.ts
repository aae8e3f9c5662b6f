import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test } from 'vitest';
import { tileSide } from '../../algorithms/cross-compare/tile-side.ts';
import { parserOnDevice } from '../../formats/result-sets/device-parser.ts';
import { parseTile } from '../../formats/result-sets/parse-tile.ts';
import type { TileSource } from '../../formats/result-sets/result-set.ts';
import { openTileParser, startSideParser, type TileParser } from '../../formats/result-sets/tile-parser.ts';
import { open } from '../../index.ts';
import { DeviceLostError, FormatError, GeometryError } from '../../primitives/checks/errors.ts';

const never = new AbortController().signal;
let parser: TileParser;
afterEach(() => parser.close());

function tile(text: string, loads: string[] = []): TileSource {
  const parameters = { format: 'boundaries', place: 't.txt' } as const;
  const load = async (): Promise<Uint8Array> => {
    loads.push('load');
    return new TextEncoder().encode(text);
  };
  return { name: 't', place: 't.txt', format: 'boundaries', load, parameters };
}

const SQUARES = 'a 0,0 4,0 4,4 0,4\nb 5,5 9.5,5 9.5,7 5,7\n';

describe('openTileParser', () => {
  test('returns the same as parsing and snapping on this thread', async () => {
    parser = openTileParser({ workers: 2, pixelSize: 0.5 });
    const parameters = { format: 'boundaries', place: 't.txt' } as const;
    const here = tileSide(parseTile(new TextEncoder().encode(SQUARES), parameters), { pixelSize: 0.5, place: 't.txt' });
    const all = await Promise.all([1, 2, 3].map(() => parser.parse(tile(SQUARES), never)));
    expect(all).toEqual([here, here, here]);
  });

  test('passes on errors of a tile', async () => {
    parser = openTileParser({ workers: 1, pixelSize: 1 });
    const wrong = [tile('a 0,0 1,x'), tile('a 0,0 1e300,0 0,1\n')].map((each) => parser.parse(each, never));
    const [first, second] = await Promise.allSettled(wrong);
    expect([FormatError, GeometryError].some((kind) => (first as PromiseRejectedResult).reason instanceof kind)).toBe(
      true,
    );
    expect((second as PromiseRejectedResult).reason).toMatchObject({ code: 'geometry/beyond-grid' });
  });

  test('reads a tile again when its thread died', async () => {
    let started = 0;
    const dying = () =>
      new Worker('require("node:worker_threads").parentPort.on("message", () => process.exit(1))', { eval: true });
    parser = openTileParser({ workers: 1, pixelSize: 1, start: () => (started++ === 0 ? dying() : startSideParser()) });
    const loads: string[] = [];
    const side = await parser.parse(tile(SQUARES, loads), never);
    expect([side.regions?.left.length, loads.length, started]).toEqual([2, 2, 2]);
  });

  test('rejects a tile whose threads died twice', async () => {
    const dying = () =>
      new Worker('require("node:worker_threads").parentPort.on("message", () => process.exit(1))', { eval: true });
    parser = openTileParser({ workers: 1, pixelSize: 1, start: dying });
    await expect(parser.parse(tile(SQUARES), never)).rejects.toBeInstanceOf(DeviceLostError);
  });
});

describe('parserOnDevice', () => {
  test('returns the same as the threads, notes and errors included', async () => {
    parser = openTileParser({ workers: 1, pixelSize: 0.5 });
    const context = await open({ backend: 'reference' });
    const onDevice = parserOnDevice(context, 0.5);
    const texts = [
      SQUARES,
      '',
      '# none\n',
      'a 0,0 4,0 4,4.2 0,4 ; 1,1 2,1 2,2\n0,0 1,0 1,1\n',
      'a 0,0 1,x',
      'a 0,0 1e300,0 0,1\n',
    ];
    for (const text of texts) {
      const [threads, device] = await Promise.allSettled([
        parser.parse(tile(text), never),
        onDevice(tile(text), never),
      ]);
      if (threads.status === 'fulfilled') expect(device).toEqual(threads);
      else {
        const { name, message, code, place } = threads.reason;
        expect(device).toMatchObject({ status: 'rejected', reason: { name, message, code, place } });
      }
    }
    await context.close();
  });

  test('reads no tile whose parse was aborted', async () => {
    parser = openTileParser({ workers: 1, pixelSize: 1 });
    const context = await open({ backend: 'reference' });
    const reason = new Error('enough');
    await expect(parserOnDevice(context, 1)(tile(SQUARES), AbortSignal.abort(reason))).rejects.toBe(reason);
    await context.close();
  });
});
