/** WebGPU's buffer usage and map mode flags. The global objects with these constants exist in browsers only. */
export const usage = {
  mapRead: 0x1,
  mapWrite: 0x2,
  copySource: 0x4,
  copyDestination: 0x8,
  index: 0x10,
  vertex: 0x20,
  uniform: 0x40,
  storage: 0x80,
  indirect: 0x100,
  queryResolve: 0x200,
} as const;

export const MAP_MODE_READ = 1;
export const MAP_MODE_WRITE = 2;
