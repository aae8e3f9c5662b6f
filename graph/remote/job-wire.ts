import { unpacked } from './wire.ts';
import { isThrown, recordOf, type Thrown, thrownOf } from './wire-errors.ts';
import { badBytes } from './wire-form.ts';
import { readValue } from './wire-reader.ts';
import { writeValue } from './wire-writer.ts';

/** What the function of a node is told about an item, besides the item itself. */
export interface ItemFacts {
  readonly index: number;
  readonly lane: number;
  readonly attempt: number;
}

/** A mark that the function made, with its time in milliseconds after the start of the job. */
export interface RemoteMark {
  readonly name: string;
  readonly time: number;
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
}

/** How an item fared. Times are in milliseconds after the start of the job. */
export interface ItemNews {
  readonly start: number;
  readonly end: number;
  readonly failed: boolean;
  readonly marks: readonly RemoteMark[];
}

/** Writes an item as two pieces of a job: the facts, and the item. */
export async function writeItem(item: unknown, facts: ItemFacts): Promise<readonly [Uint8Array, Uint8Array]> {
  return [await writeValue([facts.index, facts.lane, facts.attempt], 'facts'), await writeValue(item, 'item')];
}

export function readFacts(bytes: Uint8Array): ItemFacts {
  const facts = readValue(bytes, () => undefined);
  if (!Array.isArray(facts) || facts.length !== 3 || !facts.every((each) => typeof each === 'number'))
    throw badBytes('it does not say which item it has', 0);
  const [index, lane, attempt] = facts as [number, number, number];
  return { index, lane, attempt };
}

/** Writes the error of an item, as the value that follows its news. */
export async function writeThrown(thrown: unknown): Promise<Uint8Array> {
  return writeValue(await recordOf(thrown), 'error');
}

/** Writes news of an item. The detail of a mark is left out if it cannot leave the process. */
export async function writeNews(news: ItemNews): Promise<Uint8Array> {
  const { marks, ...rest } = news;
  try {
    return await writeValue(news, 'news');
  } catch {
    return writeValue({ ...rest, marks: marks.map(({ name, time }) => ({ name: `${name}`, time })) }, 'news');
  }
}

export function readNews(bytes: Uint8Array): ItemNews {
  const news = readValue(bytes, () => undefined) as Partial<ItemNews> | undefined | null;
  const { start, end, failed, marks } = news ?? {};
  const isGood = typeof start === 'number' && typeof end === 'number' && typeof failed === 'boolean' && isMarks(marks);
  if (!isGood) throw badBytes('it does not say how an item fared', 0);
  return { start, end, failed, marks };
}

function isMarks(marks: unknown): marks is readonly RemoteMark[] {
  return (
    Array.isArray(marks) &&
    marks.every(
      (mark) =>
        typeof mark?.name === 'string' &&
        typeof mark.time === 'number' &&
        (mark.detail === undefined || (typeof mark.detail === 'object' && mark.detail !== null)),
    )
  );
}

/** The number of items of a job that failed, by the payload of its outcome. */
export function countFailed(payload: Uint8Array): number {
  return unpacked(payload).filter((piece, i) => i % 2 === 0 && readNews(piece).failed).length;
}

/** Returns the result of an item, or throws its error. */
export function readResult(bytes: Uint8Array, failed: boolean, landing: () => unknown): unknown {
  if (failed) throw readThrown(bytes);
  return readValue(bytes, landing);
}

/** Reads what {@link writeThrown} wrote. */
export function readThrown(bytes: Uint8Array): unknown {
  const value = readValue(bytes, () => undefined);
  if (!isThrown(value)) throw badBytes('it has no error where one is announced', 0);
  return thrownOf(value as Thrown);
}
