import type { ErrorPlace } from '../errors.ts';

/** A stack frame with the name of a function, one without, and one as Firefox and Safari write it. */
const frames = [/^\s*at .*? \((.+):(\d+):(\d+)\)$/, /^\s*at (?:async )?(.+):(\d+):(\d+)$/, /^[^@]*@(.+):(\d+):(\d+)$/];

/**
 * The line of the caller's code that is being executed: the first stack frame outside the builder and the primitives. The
 * runtime maps it to the source file where it knows how.
 */
export function callerPlace(): ErrorPlace | undefined {
  // V8 and Safari look at it.
  const limited = Error as { stackTraceLimit?: number | undefined };
  const limit = limited.stackTraceLimit;
  limited.stackTraceLimit = 40;
  const { stack } = new Error();
  limited.stackTraceLimit = limit;
  return placeIn(stack);
}

/** The first place in a stack that is the caller's; unknown where a bundler has put the caller into one file with these. */
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

/** The place that a line of a stack names, if it is a frame. */
function placeOf(frame: string): Place | undefined {
  const match = frames.map((form) => form.exec(frame)).find((found) => found !== null);
  if (match === undefined) return undefined;
  return { file: fileOf(match[1]!), line: Number(match[2]), column: Number(match[3]) };
}

function isOwn(file: string): boolean {
  own ??= ownPlace();
  return file === own.file || (own.folder !== undefined && file.startsWith(own.folder));
}

/** This file as stack frames name it, and the folder in which nothing is the caller's. */
interface OwnPlace {
  readonly file: string | undefined;
  readonly folder: string | undefined;
}

let own: OwnPlace | undefined;

/** Found in a stack, as files of a bundle need not know their addresses, and the runtime may map them to their sources. */
function ownPlace(): OwnPlace {
  const file = (new Error().stack ?? '')
    .split('\n')
    .map(placeOf)
    .find((place) => place !== undefined)?.file;
  // Bundlers of development put packages into a folder that holds nothing else.
  const folder = /^(.*\/)functors\/place\.[jt]s$/.exec(file ?? '') ?? /^(.*\/node_modules\/\.vite\/)/.exec(file ?? '');
  return { file, folder: folder?.[1] };
}

/** A file or its address as a path with slashes. */
function fileOf(address: string): string {
  const path = address.startsWith('file://') ? decodeURI(address.slice(7)) : address;
  return path.replaceAll('\\', '/').replace(/^\/(?=[A-Za-z]:\/)/, '');
}
