/** Wraps a GPU, and collects in `shaders` the texts of all shaders that its devices compile. */
export function listening(gpu: GPU): { readonly gpu: GPU; readonly shaders: string[] } {
  const shaders: string[] = [];
  const requestAdapter = async (wanted?: GPURequestAdapterOptions): Promise<GPUAdapter | null> => {
    const adapter = await gpu.requestAdapter(wanted);
    const requestDevice = adapter?.requestDevice.bind(adapter);
    if (adapter === null || requestDevice === undefined) return null;
    adapter.requestDevice = async (descriptor) => {
      const device = await requestDevice(descriptor);
      const create = device.createShaderModule.bind(device);
      device.createShaderModule = (module) => {
        shaders.push(module.code);
        return create(module);
      };
      return device;
    };
    return adapter;
  };
  return { gpu: { requestAdapter, wgslLanguageFeatures: gpu.wgslLanguageFeatures } as GPU, shaders };
}
