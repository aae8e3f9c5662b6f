import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { stageOutputs } from '../formats/bytes/atomic-write.ts';
import { UsageError } from '../formats/usage-error.ts';
import { decodeItems, encodeItems } from '../graph/remote/wire.ts';
import { FormatError } from '../primitives/checks/errors.ts';
import { anArrayOf, aPositive, aRecord, type Kind, someRecord } from '../primitives/checks/kinds.ts';
import { differenceOf, type FileFacts, someFileFacts } from './file-facts.ts';

/** What makes a run what it is. Another process goes on with it only if all of this is the same. */
export interface Manifest {
  /** The options that change what is counted, as texts, by their names on the command line. */
  readonly options: Readonly<Record<string, string>>;
  readonly files: readonly FileFacts[];
  /** About how many cells a partition has. */
  readonly partCells: number;
}

const someManifest: Kind = aRecord<Manifest>({
  options: someRecord,
  files: anArrayOf(someFileFacts),
  partCells: aPositive(),
});

const HASH_BYTES = 32;

function hashOf(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/**
 * What a run keeps in files, so that another process can go on after this one was killed. Each file is replaced as a
 * whole. All are removed when the run ends in any other way, unless they are to be kept.
 */
export class RunRecord {
  readonly #folder: string;
  readonly #run: string;
  #isKept = false;

  constructor(queueFolder: string, run: string) {
    this.#folder = join(queueFolder, `${run}.zonal`);
    this.#run = run;
  }

  /** Begins the record of a new run. */
  async begin(manifest: Manifest): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    await this.write('manifest', manifest);
  }

  /**
   * The number of cells of partitions of an earlier run, after checking that it was the same run.
   *
   * @throws UsageError `zonal/no-run`, `zonal/other-options` or `zonal/other-inputs`.
   */
  async resume(manifest: Pick<Manifest, 'options' | 'files'>): Promise<number> {
    const saved = (await this.read('manifest', someManifest)) as Manifest;
    requireSameOptions(saved.options, manifest.options);
    requireSameInputs(saved.files, manifest.files);
    return saved.partCells;
  }

  /** Throws `zonal/no-run` if there is nothing to go on with. */
  async require(): Promise<void> {
    if ((await this.read('manifest', someManifest)) === undefined) throw this.#missing();
  }

  async write(name: string, value: unknown): Promise<void> {
    const path = join(this.#folder, name);
    const staged = await stageOutputs([path]);
    try {
      const bytes = await encodeItems([value]);
      await staged.write(path, [hashOf(bytes), bytes]);
      await staged.commit();
    } finally {
      await staged.discard();
    }
  }

  /**
   * The value of a file; undefined if there is no such file.
   *
   * @throws FormatError `zonal/damaged-run` for other bytes than were written, and for values of another kind.
   */
  async read(name: string, kind: Kind): Promise<unknown> {
    const path = join(this.#folder, name);
    const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (bytes === undefined) return undefined;
    const content = bytes.subarray(HASH_BYTES);
    try {
      const value = hashOf(content).equals(bytes.subarray(0, HASH_BYTES)) ? decodeItems(content)[0] : undefined;
      if (kind(value, name, new Map()) === undefined) return value;
    } catch {
      // The error follows.
    }
    throw new FormatError('zonal/damaged-run', 'What the run kept is damaged.', {
      remedy: 'Start the run anew, without --resume.',
      place: { file: path },
    });
  }

  /** Keeps the record, because the run can go on when the server is mended. */
  keep(): void {
    this.#isKept = true;
  }

  async remove(): Promise<void> {
    if (this.#isKept) return;
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Removes the record synchronously, for a process that is about to exit. */
  removeNow(): void {
    if (this.#isKept) return;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #missing(): UsageError {
    return new UsageError('zonal/no-run', `There is no run ${this.#run} to go on with.`, {
      remedy:
        'Name a run that was killed, and the same --queue-folder. Runs that end in any other way leave nothing behind.',
    });
  }
}

function requireSameOptions(saved: Manifest['options'], given: Manifest['options']): void {
  for (const name of new Set([...Object.keys(saved), ...Object.keys(given)])) {
    if (saved[name] === given[name]) continue;
    throw new UsageError('zonal/other-options', `${name} differs from that of the run.`, {
      expected: saved[name] ?? 'nothing',
      got: given[name] ?? 'nothing',
      remedy: 'Give the same options as before, or start a run anew, without --resume.',
    });
  }
}

function requireSameInputs(saved: readonly FileFacts[], given: readonly FileFacts[]): void {
  for (let at = 0; at < Math.max(saved.length, given.length); at++) {
    const [before, now] = [saved[at], given[at]];
    const difference =
      before === undefined || now === undefined || before.path !== now.path
        ? { expected: before?.path ?? 'no further file', got: now?.path ?? 'none' }
        : differenceOf(before, now);
    if (difference === undefined) continue;
    throw new UsageError('zonal/other-inputs', 'A file differs from that of the run.', {
      ...difference,
      remedy: 'Start the run anew, without --resume.',
      place: { file: now?.path ?? before!.path },
    });
  }
}
