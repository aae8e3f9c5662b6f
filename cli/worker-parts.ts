import type { Platform } from '../platform.ts';
import { DeviceLostError } from '../primitives/checks/errors.ts';
import type { Context } from '../primitives/context/context.ts';
import { shownUrl } from '../queues/connection.ts';
import type { BackendOptions } from './arguments.ts';
import type { CardParts } from './choose-card.ts';
import { openContext } from './run-support.ts';
import type { WorkerContext, WorkerParts } from './worker.ts';

/** The functions that `quadrille worker` uses. Their code is imported when first needed. */
export const workerParts: WorkerParts<Context> = {
  async loadModules(options) {
    const { modulesOf } = await import('./worker-modules.ts');
    return modulesOf(options);
  },
  openContext: ({ gpu, ...options }, signal) =>
    openContext(options, gpu === undefined ? openAny : () => openOnCard(gpu, signal)),
  async serveQueue(options) {
    const { serveQueue } = await import('../queues/index.ts');
    return serveQueue(options);
  },
  async lossOf(context) {
    const column = context.column(Uint32Array.of(0));
    try {
      await context.read(column);
      return undefined;
    } catch (error) {
      return error instanceof DeviceLostError ? error : undefined;
    } finally {
      context.dispose(column);
    }
  },
  shownUrl,
};

async function openAny(options: BackendOptions): Promise<WorkerContext<Context>> {
  const [{ openOn }, { node }, { adapterName }] = await Promise.all([
    import('../open.ts'),
    import('../on-node.ts'),
    import('../backends/webgpu/device/adapter-name.ts'),
  ]);
  let adapter = '';
  const gpu: Platform['gpu'] = async (kind) => {
    const found = await node.gpu(kind);
    const info = (await found?.requestAdapter())?.info;
    if (info !== undefined) adapter = adapterName(info);
    return found;
  };
  const context = await openOn({ ...node, gpu }, options);
  const { name } = context.backend;
  return { context, label: name === 'webgpu' ? adapter : name };
}

async function openOnCard(index: number, signal: AbortSignal): Promise<WorkerContext<Context>> {
  const [{ openCard }, { openOn }, { node }] = await Promise.all([
    import('./choose-card.ts'),
    import('../open.ts'),
    import('../on-node.ts'),
  ]);
  const { card, gpu } = await openCard(index, await cardParts(), signal);
  const context = await openOn({ ...node, gpu: async () => gpu }, { backend: 'webgpu', adapter: 'hardware' });
  return { context, label: `${card.name} (GPU ${card.index})` };
}

async function cardParts(): Promise<CardParts> {
  const [cards, { holdCard }, { holdCardElsewhere }, { openNodeGpu }] = await Promise.all([
    import('./cards.ts'),
    import('./card-holder.ts'),
    import('./card-holder-process.ts'),
    import('../backends/webgpu-node/index.ts'),
  ]);
  return {
    ...cards,
    holdCard,
    holdCardElsewhere,
    openGpu({ environment, name }) {
      // The loader of drivers reads the environment of the process when it is first asked for cards.
      Object.assign(process.env, environment);
      return openNodeGpu('hardware', { name });
    },
  };
}
