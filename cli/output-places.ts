import { resolve, sep } from 'node:path';
import { resolveTarget } from '../formats/atomic-write.ts';
import { UsageError } from '../formats/usage-error.ts';

/** Outputs by the names of their options; `-` is stdout. */
type Outputs = Readonly<Record<string, string | undefined>>;

interface OutputPlace {
  /** As on the command line. */
  readonly words: string;
  /** Links followed. */
  readonly target: string;
}

/**
 * Checks that folders, each of which one output fills alone, hold no other output.
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
    // What is wrong with a path is told where it is opened.
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
      `${other.words} lies in the folder of ${folder.words}, which has to be empty.`,
      { remedy: 'Write it elsewhere.' },
    );
  }
  return new UsageError(
    'output/same-folder',
    `${folder.words} and ${other.words} name one folder, in which their files would mix.`,
    { remedy: 'Give each of them a folder of its own.' },
  );
}
