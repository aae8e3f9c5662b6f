import type { Candidate } from '../harness/candidate.ts';

/** Options that peers may use. */
export interface PeerOptions {
  /** Paths of programs that were compiled elsewhere, by the name of their peer. */
  readonly compiled: ReadonlyMap<string, string>;
  /** The WebGPU adapter for peers that use one. */
  readonly adapter: 'auto' | 'hardware' | 'software';
}

/**
 * Finds the peers (other libraries or programs) of one name. The result is empty if none is available on this machine.
 */
type FindPeers = (options: PeerOptions) => Promise<readonly Candidate[]>;

/**
 * Functions that find the peers, by name. Each file is loaded only on demand. To add a peer, add a file and a line
 * here.
 */
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

/** Finds the peers (other libraries or programs) of one name that are available on this machine. */
export function findPeers(name: string, options: PeerOptions): Promise<readonly Candidate[]> {
  return FINDERS[name]!(options);
}
