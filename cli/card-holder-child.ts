// The program of a process that opens a card and takes memory there, as its parent asks. It ends with its parent.
import { openNodeGpu } from '../backends/webgpu-node/index.ts';
import { type CardHolder, holdCard } from './card-holder.ts';
import type { HolderAnswer, HolderRequest } from './card-holder-process.ts';

let holder: CardHolder | undefined;

async function answer(request: HolderRequest): Promise<HolderAnswer> {
  try {
    if (request.ask === 'open') holder = await holdCard(await openNodeGpu('hardware', { name: request.name }));
    else if (request.ask === 'take') await holder?.take(request.bytes);
    else await holder?.free();
    return { adapter: holder?.adapter ?? '' };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

process.on('message', async (request: HolderRequest) => process.send?.(await answer(request)));
process.on('disconnect', () => process.exit());
