import type { UniteCommand } from '../../../../primitives/contract/backend.ts';
import {
  argumentWords,
  beginKernel,
  emitChunk,
  emitOwnLength,
  emitOwnWord,
  emitRange,
  type KernelShape,
  kernelCode,
  lengthWords,
  ownWord,
  shapeKey,
  shapeOf,
} from '../../commands/kernel-arguments.ts';
import { chunkSizeOf, type Launch, type Launcher, unevenChunkSizeOf } from '../../commands/launch.ts';
import { inlineEntry } from '../../wasm/emit-wasm.ts';
import { emitIndexLoop } from '../../wasm/index-loop.ts';
import type { Code } from '../../wasm/wasm-code.ts';
import { atomic, type FunctionBody, I32 } from '../../wasm/wasm-encoder.ts';
import { atomicResult, type Int32, load } from '../../wasm/wasm-expressions.ts';
import { asInt32, type Int32Local } from '../../wasm/wasm-locals.ts';
import { store, swap, when, whileTrue } from '../../wasm/wasm-statements.ts';
import { releaseAll } from '../shared/monoid-code.ts';

/**
 * Index of the kernel-specific argument word that holds the address of the links. Then come the three words of the number
 * of nodes, and the number of nodes in a chunk.
 */
const LINKS = 0;
const NODES = 1;
const NODE_CHUNK = 4;
const WORDS = 5;

/**
 * Joins sets; see `UniteCommand`. In the first phase, all threads join the ends of edges: the greater of two roots is
 * linked to the lesser by a compare-exchange. If the greater is no root any more by then, the thread goes on with the
 * node that it was linked to. A second phase links every node to its root.
 *
 * Source: Anderson and Woll, Wait-free Parallel Algorithms for the Union-Find Problem, 1991, with links to lesser nodes.
 */
export function launchUnite(launcher: Launcher, { extent, program, nodes, links }: UniteCommand): Launch {
  const { addresses, workers } = launcher;
  const shape = shapeOf([program], WORDS);
  const kernel = launcher.compile(`unite ${shapeKey(shape)}`, () => [emitJoining(shape), emitRoots()]);
  const [join, settle] = kernel.functions as readonly [number, number];
  const [edges, count] = [lengthWords(extent, addresses), lengthWords(nodes, addresses)];
  const [edgeChunk, nodeChunk] = [unevenChunkSizeOf(edges[2], workers), chunkSizeOf(count[2], workers)];
  const own = [addresses.of(links, count[2]), ...count, nodeChunk];
  return {
    words: argumentWords(shape, addresses, edges, edgeChunk, own),
    phases: [
      { run: join, length: edges, chunkSize: edgeChunk, minimum: 0 },
      { run: settle, length: count, chunkSize: nodeChunk, minimum: 0 },
    ],
  };
}

/** The address of the link of a node. */
function linkOf(links: Int32, node: Int32): Int32 {
  return links.add(node.shl(2));
}

function emitJoining(shape: KernelShape): FunctionBody {
  const { code, inputs } = beginKernel(shape);
  const links = emitOwnWord(code, LINKS);
  const nodes = emitOwnLength(code, NODES);
  const { from, to } = emitChunk(code, inputs.extent);
  const index = code.local(I32);
  const scalar = (): void => {
    const ends = inlineEntry(code, inputs.environments[0]!, [index]);
    const [a, b] = ends.map(asInt32) as [Int32Local, Int32Local];
    when(code, a.ltU(nodes).and(b.ltU(nodes)), () => emitJoin(code, links, a, b));
    releaseAll(code, ends);
  };
  emitIndexLoop(code, { from, to, index, scalar });
  return code.finish();
}

/** Joins the sets of two nodes. The locals that hold the nodes are changed. */
function emitJoin(code: Code, links: Int32, a: Int32Local, b: Int32Local): void {
  const found = code.local(I32);
  whileTrue(code, a.ne(b), () => {
    emitRoot(code, links, a, true);
    emitRoot(code, links, b, true);
    when(code, a.ltU(b), () => swap(code, a, b));
    when(code, a.ne(b), () => {
      found.set(atomicResult(atomic.i32CompareExchange, linkOf(links, a), a, b));
      // The sets are joined if `a` was still a root. Otherwise its link takes its place.
      a.set(found.eq(a).select(b, found));
    });
  });
  code.release(found);
}

/** Follows links from a node to the root of its set. If `halves`, halves the path on its way. */
function emitRoot(code: Code, links: Int32, node: Int32Local, halves: boolean): void {
  const [next, after] = [code.local(I32), code.local(I32)];
  next.set(load(linkOf(links, node)));
  whileTrue(code, next.ne(node), () => {
    after.set(load(linkOf(links, next)));
    // Other threads may replace this link too, but only by another node of the path to the root.
    if (halves) when(code, after.ne(next), () => store(code, linkOf(links, node), after));
    node.set(next);
    next.set(after);
  });
  for (const local of [next, after]) code.release(local);
}

function emitRoots(): FunctionBody {
  const code = kernelCode();
  const links = emitOwnWord(code, LINKS);
  const nodes = emitOwnLength(code, NODES);
  const { from, to } = emitRange(code, nodes, ownWord(NODE_CHUNK));
  const [index, root] = [code.local(I32), code.local(I32)];
  const scalar = (): void => {
    root.set(index);
    // Halving would replace links to roots that other threads have stored.
    emitRoot(code, links, root, false);
    store(code, linkOf(links, index), root);
  };
  emitIndexLoop(code, { from, to, index, scalar });
  return code.finish();
}
