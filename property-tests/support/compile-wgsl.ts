import { testAdapter } from '../../backends/webgpu-node/node-gpu.ts';
import { openPooledGpu } from './pooled-gpu.ts';

/** Compiles WGSL with the compiler of the adapter on which tests run, Dawn's. */
export interface WgslCompiler {
  /** The errors that the compiler finds; none if the text is WGSL. */
  errorsIn(code: string): Promise<string[]>;
  close(): void;
}

export async function openWgslCompiler(): Promise<WgslCompiler> {
  const gpu = await openPooledGpu();
  const adapter = (await gpu.requestAdapter({ forceFallbackAdapter: testAdapter() === 'software' }))!;
  const device = await adapter.requestDevice();
  return {
    async errorsIn(code) {
      device.pushErrorScope('validation');
      const module = device.createShaderModule({ code });
      const { messages } = await module.getCompilationInfo();
      await device.popErrorScope();
      return messages.filter(({ type }) => type === 'error').map(({ lineNum, message }) => `${lineNum}: ${message}`);
    },
    close: () => device.destroy(),
  };
}
