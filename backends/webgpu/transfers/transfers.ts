import type { WordSink, WordSource } from '../../../primitives/contract/backend.ts';
import type { Memory } from '../memory/memory.ts';
import { createDownloads } from './downloads.ts';
import { createMapper, type StagingOptions, type TransferHost } from './staging.ts';
import { STAGING, type StagingSize } from './staging-size.ts';
import { createUploadRing } from './upload-ring.ts';
import { createUploads } from './uploads.ts';

/** Copies between host and device. */
export interface Transfers {
  write(memory: Memory, word: number, data: Uint32Array): void;
  /** Fills a buffer from a source. No command may use the buffer before the promise resolves. */
  upload(memory: Memory, source: WordSource): Promise<void>;
  /** Reads words and passes them to `take`, piece by piece. */
  readTo(memory: Memory, word: number, words: number, take: WordSink): Promise<void>;
  read(memory: Memory, word: number, words: number): Promise<Uint32Array>;
  /** Destroys staging buffers that are not in use. */
  trim(): void;
  destroy(): void;
  /** Resolves when no source is writing to staging memory. Until then, the device must not be destroyed. */
  quiet(): Promise<void>;
}

export interface TransfersOptions extends TransferHost {
  /** Whether other code uses the device too. */
  readonly shared: boolean;
  readonly size?: StagingSize | undefined;
}

export function createTransfers(options: TransfersOptions): Transfers {
  const { device, shared, size = STAGING } = options;
  const staging: StagingOptions = { ...options, size, mapped: createMapper(device, shared) };
  const ring = createUploadRing(staging);
  const { write, upload, quiet } = createUploads(ring, options);
  const downloads = createDownloads(staging);
  return {
    write,
    upload,
    quiet,
    readTo: downloads.read,
    async read(memory, word, words) {
      const result = new Uint32Array(words);
      await downloads.read(memory, word, words, (piece, at) => result.set(piece, at));
      return result;
    },
    trim() {
      ring.trim();
      downloads.trim();
    },
    destroy() {
      ring.destroy();
      downloads.destroy();
    },
  };
}
