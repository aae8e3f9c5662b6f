import type { Candidate } from '../harness/candidate.ts';

/** What a peer may be told before it is looked for. */
export interface PeerOptions {
  /** Programs that were compiled elsewhere, by the name of their peer. */
  readonly compiled: ReadonlyMap<string, string>;
  /** Which adapter of WebGPU peers on it take. */
  readonly adapter: 'auto' | 'hardware' | 'software';
}

/** How peers of a kind are found: an empty list where they are not here. */
type FindPeers = (options: PeerOptions) => Promise<readonly Candidate[]>;

/** Peers by name, each loaded when it is asked for; a new one is a file of its own and a line here. */
const FINDERS: Readonly<Record<string, FindPeers>> = {
  async javascript() {
    const { javascriptPeer } = await import('./javascript.ts');
    return [javascriptPeer()];
  },
  async cpp({ compiled }) {
    const { cppPeers } = await import('./cpp.ts');
    return cppPeers(compiled.get('cpp'));
  },
  async cuda({ compiled }) {
    const { cudaPeers } = await import('./cuda.ts');
    return cudaPeers(compiled.get('cuda'));
  },
  async duckdb() {
    const { duckDbPeer } = await import('./duckdb.ts');
    return [await duckDbPeer()].filter((peer) => peer !== undefined);
  },
  async arquero() {
    const { arqueroPeer } = await import('./arquero.ts');
    return [await arqueroPeer()].filter((peer) => peer !== undefined);
  },
  async luma({ adapter }) {
    const { lumaPeer } = await import('./luma.ts');
    return [await lumaPeer(adapter)].filter((peer) => peer !== undefined);
  },
};

export const PEER_NAMES: readonly string[] = Object.keys(FINDERS);

/** The peers of a name that are here. */
export function findPeers(name: string, options: PeerOptions): Promise<readonly Candidate[]> {
  return FINDERS[name]!(options);
}
