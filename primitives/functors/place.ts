import type { ErrorPlace } from '../errors.ts';

/** The forms of a stack frame: with a function name, without one, and as in Firefox and Safari. */
const frames = [/^\s*at .*? \((.+):(\d+):(\d+)\)$/, /^\s*at (?:async )?(.+):(\d+):(\d+)$/, /^[^@]*@(.+):(\d+):(\d+)$/];

/**
 * The current line of the caller's code: the first stack frame outside the functor builder and the primitives. The
 * runtime maps it to the source file if it can.
 */
export function callerPlace(): ErrorPlace | undefined {
  // V8 and Safari respect this limit.
  const limited = Error as { stackTraceLimit?: number | undefined };
  const limit = limited.stackTraceLimit;
  limited.stackTraceLimit = 40;
  const { stack } = new Error();
  limited.stackTraceLimit = limit;
  return placeIn(stack);
}

/**
 * The first place in a stack that belongs to the caller; unknown if a bundler has put the caller into the same file as
 * this code.
 */
export function placeIn(stack: string | undefined): ErrorPlace | undefined {
  for (const line of stack?.split('\n') ?? []) {
    const place = placeOf(line);
    if (place !== undefined && !place.file.startsWith('node:') && !isOwn(place.file)) return place;
  }
  return undefined;
}

interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The place in a line of a stack trace, if it is a frame. */
function placeOf(frame: string): Place | undefined {
  const match = frames.map((form) => form.exec(frame)).find((found) => found !== null);
  if (match === undefined) return undefined;
  return { file: fileOf(match[1]!), line: Number(match[2]), column: Number(match[3]) };
}

function isOwn(file: string): boolean {
  own ??= ownPlace();
  return file === own.file || (own.folder !== undefined && file.startsWith(own.folder));
}

/** This file as stack frames name it, and the folder whose files never belong to the caller. */
interface OwnPlace {
  readonly file: string | undefined;
  readonly folder: string | undefined;
}

let own: OwnPlace | undefined;

/**
 * Found in a stack trace: the files of a bundle may not know their addresses, and the runtime may map them to their
 * sources.
 */
function ownPlace(): OwnPlace {
  const file = (new Error().stack ?? '')
    .split('\n')
    .map(placeOf)
    .find((place) => place !== undefined)?.file;
  // Development bundlers put packages into a folder of their own.
  const folder = /^(.*\/)functors\/place\.[jt]s$/.exec(file ?? '') ?? /^(.*\/node_modules\/\.vite\/)/.exec(file ?? '');
  return { file, folder: folder?.[1] };
}

/** A file name or address as a path with slashes. */
function fileOf(address: string): string {
  const path = address.startsWith('file://') ? decodeURI(address.slice(7)) : address;
  return path.replaceAll('\\', '/').replace(/^\/(?=[A-Za-z]:\/)/, '');
}
