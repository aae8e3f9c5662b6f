import { crc32 } from '../bytes/crc32.ts';
import { badGzip } from '../bytes/gzip-files.ts';
import { inflateRaw } from '../bytes/inflate-on-page.ts';
import type { LayerPlatform } from './layer-input.ts';
import { pageDecoderOf } from './page-code-pages.ts';

/** What readers of layers ask of a page. */
export const pageLayers: LayerPlatform = {
  gunzip,
  inflateRaw(bytes, max) {
    const unpacked = inflateRaw(bytes, max + 1);
    if (unpacked === undefined) throw new Error('too many bytes');
    return unpacked;
  },
  crc32,
  decoderOf: pageDecoderOf,
  readers: {},
};

/** Decompresses a stream of gzip by the platform's own streams, which compare checksums. */
async function* gunzip(packed: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<Uint8Array, void, undefined> {
  const { writable, readable } = new DecompressionStream('gzip');
  const writer = writable.getWriter();
  let failed: { readonly error: unknown } | undefined;
  const source = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* packed;
    } catch (error) {
      failed = { error };
      throw error;
    }
  };
  const feed = async (): Promise<void> => {
    try {
      for await (const block of source()) {
        await writer.ready;
        // The source may use the memory of a block again.
        await writer.write(block.slice());
      }
      await writer.close();
    } catch (error) {
      await writer.abort(error);
    }
  };
  // Its errors reach the reader, too.
  const feeding = feed().catch(() => {});
  const reader = readable.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw failed === undefined ? badGzip(file, error) : failed.error;
  } finally {
    await reader.cancel().catch(() => {});
    await feeding;
  }
}
