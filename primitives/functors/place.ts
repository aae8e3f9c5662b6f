import type { ErrorPlace } from '../errors.ts';

/** A stack frame with the name of a function, one without, and one as Firefox and Safari write it. */
const frames = [/^\s*at .*? \((.+):(\d+):(\d+)\)$/, /^\s*at (?:async )?(.+):(\d+):(\d+)$/, /^[^@]*@(.+):(\d+):(\d+)$/];

/** The folder `primitives/` as stack frames name it; unknown where a bundler has put everything into one file. */
const ownFolder = /^(.*\/)functors\/place\.[jt]s$/.exec(fileOf(import.meta.url))?.[1];
const ownSource = /\/primitives\/(functors|columns)\//;

/**
 * The line of the caller's code that is being executed: the first stack frame outside the builder and the primitives. The
 * runtime maps it to the source file where it knows how.
 */
export function callerPlace(): ErrorPlace | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 40;
  const { stack } = new Error();
  Error.stackTraceLimit = limit;
  return placeIn(stack);
}

/** The first place in a stack that is the caller's. */
export function placeIn(stack: string | undefined): ErrorPlace | undefined {
  for (const line of stack?.split('\n') ?? []) {
    const match = frames.map((frame) => frame.exec(line)).find((found) => found !== null);
    if (match === undefined || match[1]!.startsWith('node:')) continue;
    const file = fileOf(match[1]!);
    if (!isOwn(file)) return { file, line: Number(match[2]), column: Number(match[3]) };
  }
  return undefined;
}

function isOwn(file: string): boolean {
  return ownFolder === undefined ? ownSource.test(file) : file.startsWith(ownFolder);
}

/** A file or its address as a path with slashes. */
function fileOf(address: string): string {
  const path = address.startsWith('file://') ? decodeURI(address.slice(7)) : address;
  return path.replaceAll('\\', '/').replace(/^\/(?=[A-Za-z]:\/)/, '');
}
