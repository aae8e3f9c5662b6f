import type { ErrorPlace } from '../checks/errors.ts';

/** The formats of a stack frame: in V8 with and without a function name, then in Firefox and Safari. */
const frames = [/^\s*at .*? \((.+):(\d+):(\d+)\)$/, /^\s*at (?:async )?(.+):(\d+):(\d+)$/, /^[^@]*@(.+):(\d+):(\d+)$/];

/**
 * The line of the caller's code that is running now: the first stack frame outside the folder of the primitives. If
 * source maps are on, the runtime maps the line to the source file.
 */
export function callerPlace(): ErrorPlace | undefined {
  // The class `Error`, with the maximum number of stack frames that V8 and Safari capture.
  const limited = Error as { stackTraceLimit?: number | undefined };
  const limit = limited.stackTraceLimit;
  limited.stackTraceLimit = 40;
  const { stack } = new Error();
  limited.stackTraceLimit = limit;
  return placeIn(stack);
}

/**
 * The first place in a stack trace that belongs to the caller's code. Undefined if a bundler has put the caller's code
 * and the library into one file.
 */
export function placeIn(stack: string | undefined): ErrorPlace | undefined {
  for (const line of stack?.split('\n') ?? []) {
    const place = placeOf(line);
    if (place !== undefined && !place.file.startsWith('node:') && !isOwn(place.file)) return place;
  }
  return undefined;
}

/** The folders beside that of the primitives with which the library makes columns for its own use. */
const FLOORS = ['primitives', 'backends', 'graph', 'queues', 'algorithms', 'formats', 'cli'];

/** Whether the line is one of the library. False if a bundler has put the caller's code and the library into one file. */
export function isOfLibrary({ file }: ErrorPlace): boolean {
  own ??= ownPlace();
  const root = own.folder?.replace(/[^/]*\/$/, '');
  return file !== undefined && root !== undefined && FLOORS.some((floor) => file.startsWith(`${root}${floor}/`));
}

interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The file, line and column that one line of a stack trace names; undefined if the line is not a stack frame. */
function placeOf(frame: string): Place | undefined {
  const match = frames.map((form) => form.exec(frame)).find((found) => found !== null);
  if (match === undefined) return undefined;
  return { file: fileOf(match[1]!), line: Number(match[2]), column: Number(match[3]) };
}

function isOwn(file: string): boolean {
  own ??= ownPlace();
  return file === own.file || (own.folder !== undefined && file.startsWith(own.folder));
}

/** The path of this file as it appears in stack frames, and the library's folder, which has no files of the caller. */
interface OwnPlace {
  readonly file: string | undefined;
  readonly folder: string | undefined;
}

let own: OwnPlace | undefined;

/**
 * Finds the path of this file in a stack trace. The file's URL cannot be used instead: a file in a bundle may not know
 * its URL, and with source maps, stack traces name the source file.
 */
function ownPlace(): OwnPlace {
  const file = (new Error().stack ?? '')
    .split('\n')
    .map(placeOf)
    .find((place) => place !== undefined)?.file;
  // If this file is not at its usual path, Vite may have bundled the package into its dependency folder.
  const folder = /^(.*\/)functors\/place\.[jt]s$/.exec(file ?? '') ?? /^(.*\/node_modules\/\.vite\/)/.exec(file ?? '');
  return { file, folder: folder?.[1] };
}

/** Converts a file name or URL to a path with forward slashes. */
function fileOf(address: string): string {
  const path = address.startsWith('file://') ? decodeURI(address.slice(7)) : address;
  return path.replaceAll('\\', '/').replace(/^\/(?=[A-Za-z]:\/)/, '');
}
