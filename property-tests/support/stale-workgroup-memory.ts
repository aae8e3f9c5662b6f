/** A word that workgroup memory holds where nothing was stored: as f32, a large negative number. */
const STALE = '0xdeadbeefu';

/**
 * Changes the WGSL of a kernel so that its workgroup memory begins with arbitrary words, as on the devices that we
 * request: Dawn does not clear it there. Software adapters happen to give zeros, which hides a kernel that forgets to
 * clear its counters.
 */
export function withStaleWorkgroupMemory(code: string): string {
  const variables = [...code.matchAll(/var<workgroup>\s+(\w+)\s*:\s*([^;]+);/g)];
  if (variables.length === 0) return code;
  const threads = /@workgroup_size\((\d+)/.exec(code)?.[1];
  const stores = variables.map(([, name, type]) => storeStale(name!, type!.trim(), threads!));
  return code.replace(/fn main\([^{]*\{/, (start) => `${start}\n${stores.join('\n')}\nworkgroupBarrier();`);
}

function storeStale(name: string, type: string, threads: string): string {
  const [, element, length] = /^array<(.+),\s*([^,<>]+)>$/.exec(type) ?? [];
  if (element === undefined) return `if (t == 0u) { ${storeOne(name, type)} }`;
  return `for (var at = t; at < ${length}; at += ${threads}u) { ${storeOne(`${name}[at]`, element)} }`;
}

function storeOne(place: string, type: string): string {
  const atomic = /^atomic<(\w+)>$/.exec(type)?.[1];
  if (atomic !== undefined) return `atomicStore(&${place}, bitcast<${atomic}>(${STALE}));`;
  if (type === 'bool') return `${place} = true;`;
  const scalar = /^(?:vec\d<)?([uif]32)>?$/.exec(type)?.[1];
  if (scalar === undefined) throw new Error(`Which words ${type} has in workgroup memory is not known.`);
  return `${place} = ${type}(bitcast<${scalar}>(${STALE}));`;
}
