import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** A folder that is removed with its content when it is disposed of. */
export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
}

/** Makes a folder whose name begins with `name`. */
export async function temporaryFolder(name: string, within: string = tmpdir()): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(resolve(within), name));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}
