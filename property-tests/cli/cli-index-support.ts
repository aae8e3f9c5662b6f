import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { Log } from '../../cli/log.ts';
import { type MaqFile, openMaq } from '../../formats/results/maq-file.ts';
import { collection, type Ending, openWorkshop, rectangle, type Workshop, zone } from '../support/cli-support.ts';

export const TRIANGLE: [x: number, y: number][] = [
  [-60, 10],
  [-20, 15],
  [-35, 50],
  [-60, 10],
];

/** Three polygons: one with a hole, one inside this hole, and one next to them. */
export const shapes: object[] = [
  zone('frame', rectangle(0, 0, 90, 80), rectangle(20, 20, 60, 60)),
  zone('island', rectangle(30, 30, 40, 41)),
  zone('wedge', TRIANGLE),
];

/** A test folder with `shapes.geojson`, its index `shapes.maq` of six levels, and queries. */
export interface IndexWorkshop extends Workshop {
  index(...words: readonly string[]): Promise<Ending>;
  build(...words: readonly string[]): Promise<Ending>;
  query(...words: readonly string[]): Promise<Ending>;
  bytesOf(name: string): Promise<Uint8Array>;
  treeOf(name: string): Promise<MaqFile>;
}

/** Makes the test folder. */
export async function openIndexWorkshop(): Promise<IndexWorkshop> {
  const shop = await openWorkshop();
  const index = (...words: readonly string[]) => shop.quadrille(['index', ...words]);
  const bytesOf = async (name: string) => new Uint8Array(await readFile(shop.path(name)));
  await shop.write('shapes.geojson', collection(...shapes));
  await shop.write(
    'boxes.geojson',
    collection(zone('w', rectangle(-70, 0, -30, 30)), zone('e', rectangle(80, 70, 120, 85))),
  );
  await shop.write(
    'points.csv',
    'id,lon,lat\nin the hole,25,25\nin the island,35,35\nin the frame,10,10\n"far, away",-150,-80\n',
  );
  await shop.write('windows.csv', 'left,bottom,right,top\n5,5,35,35\n-150,-80,-140,-70\n');
  const build = (...words: readonly string[]) => index('build', ...words, '--backend', 'reference');
  await answer(build('@shapes.geojson', '-o', '@shapes.maq', '--levels', '6'));
  return {
    ...shop,
    index,
    build,
    query: (...words) => index('query', ...words, '--backend', 'reference'),
    bytesOf,
    treeOf: async (name) => openMaq(await bytesOf(name), { file: name }),
  };
}

/** Returns the stdout of a run. The run must succeed. */
export async function answer(run: Promise<Ending>): Promise<string> {
  const { exitCode, stdout, stderr } = await run;
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
  return stdout;
}

/** A log that ignores all messages. */
export function quietLog(): Log {
  const ignore = (): void => undefined;
  return {
    progressEvery: 0,
    note: ignore,
    news: ignore,
    progress: ignore,
    clearProgress: ignore,
    summary: ignore,
    error: ignore,
  };
}
