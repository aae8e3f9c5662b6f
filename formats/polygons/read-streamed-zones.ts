import { addAbortSignal, type Readable } from 'node:stream';
import { fileError } from '../bytes/file-error.ts';
import { unpacked } from '../bytes/gzip.ts';
import { finished } from '../bytes/steps.ts';
import { fileTooLarge } from '../memory.ts';
import { bytesInput } from './layer-input.ts';
import { type ReadZones, type ZoneOptions, zonesIn } from './zones.ts';

/**
 * Reads zones from a stream, which is held in memory, as `readZones` does. Formats that are only read from files are
 * refused.
 *
 * @param file - Name of the stream in messages.
 * @throws The reason of `signal`, as soon as it is aborted, which ends the stream.
 */
export async function readStreamedZones(
  stream: Readable,
  file: string,
  options: ZoneOptions,
  signal: AbortSignal,
): Promise<ReadZones> {
  const bytes = await unpacked(
    await gathered(addAbortSignal(signal, stream), file, options.memoryBytes, signal),
    file,
    options.memoryBytes ?? Number.POSITIVE_INFINITY,
  );
  return finished(zonesIn(bytesInput(bytes, file, options.memoryBytes), options, true));
}

async function gathered(
  stream: Readable,
  file: string,
  max: number = Number.POSITIVE_INFINITY,
  signal: AbortSignal,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      size += chunk.length;
      if (size > max) throw fileTooLarge(file, size, max);
      chunks.push(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw fileError(file, error);
  }
  return Buffer.concat(chunks);
}
