import { resolve, sep } from 'node:path';
import { resolveTarget } from '../formats/bytes/atomic-write.ts';
import { UsageError } from '../formats/usage-error.ts';

/** Paths of outputs, by the names of their options; `-` is stdout. */
type Outputs = Readonly<Record<string, string | undefined>>;

interface OutputPlace {
  /** The option with its path, as written on the command line. */
  readonly words: string;
  /** The real path, with symbolic links resolved. */
  readonly target: string;
}

/**
 * Throws if an output is the same as, or inside, a folder that another output creates.
 *
 * @throws UsageError `output/same-folder`.
 */
export async function requireApart(folders: Outputs, files: Outputs): Promise<void> {
  const [filled, others] = [await placesOf(folders), await placesOf(files)];
  for (const folder of filled) {
    for (const other of [...filled, ...others]) {
      if (other !== folder && isWithin(other.target, folder.target)) throw notApart(folder, other);
    }
  }
}

async function placesOf(outputs: Outputs): Promise<OutputPlace[]> {
  const places: OutputPlace[] = [];
  for (const [option, path] of Object.entries(outputs)) {
    if (path === undefined || path === '-') continue;
    // An error for an invalid path is ignored here, because opening the path will report the error.
    const target = await resolveTarget(path).catch(() => resolve(path));
    places.push({ words: `--${option} ${path}`, target });
  }
  return places;
}

function isWithin(target: string, folder: string): boolean {
  return `${target}${sep}`.startsWith(`${folder}${sep}`);
}

function notApart(folder: OutputPlace, other: OutputPlace): UsageError {
  if (folder.target !== other.target) {
    return new UsageError(
      'output/same-folder',
      `${other.words} lies in the folder of ${folder.words}, which must be empty.`,
      { remedy: 'Write it elsewhere.' },
    );
  }
  return new UsageError(
    'output/same-folder',
    `${folder.words} and ${other.words} name the same folder, so their files would mix.`,
    { remedy: 'Give each of them a folder of its own.' },
  );
}
