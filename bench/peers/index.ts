import type { Candidate } from '../harness/candidate.ts';

/** Options for finding a peer. */
export interface PeerOptions {
  /** Programs compiled elsewhere, by the name of their peer. */
  readonly compiled: ReadonlyMap<string, string>;
  /** The WebGPU adapter for peers that use one. */
  readonly adapter: 'auto' | 'hardware' | 'software';
}

/** Finds the peers of a kind; an empty list if they are not available. */
type FindPeers = (options: PeerOptions) => Promise<readonly Candidate[]>;

/** Peers by name, loaded on demand. A new peer is a separate file and a line here. */
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

/** The available peers of a name. */
export function findPeers(name: string, options: PeerOptions): Promise<readonly Candidate[]> {
  return FINDERS[name]!(options);
}
