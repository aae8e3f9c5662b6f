// Compares two segmentations of one image. The comparison runs on two backends, and both return the same bytes. The
// comparison is a dataflow graph. This example prints the graph as a Mermaid diagram, which GitHub and others draw in
// Markdown. The example also records a trace for chrome://tracing and Perfetto.
//
//     node --import tsx examples/compare-segmentations.ts
//
// One segmentation was made by a person, who outlined nuclei as polygons. The other segmentation was made by a program,
// which labelled pixels. Both segmentations are converted to regions of whole pixels.

import { open } from 'quadrille';
import { crossCompare, type TileComparison, type TileSide, tileSide } from 'quadrille/algorithms/cross-compare';
import { COMPARE_TABLES, csvWriter, emptyTable, type PolygonTile, parseTile, traceLabels } from 'quadrille/formats';
import { chromeTrace, drawMermaid, recordTrace } from 'quadrille/graph';

interface Tile {
  readonly name: string;
  readonly read: () => PolygonTile;
}

/** Makes a tile from text with one polygon per line: the polygon's name and its rings, separated by semicolons. */
const outlines = (name: string, text: string): Tile => ({
  name,
  read: () => parseTile(new TextEncoder().encode(text), { format: 'boundaries', place: name }),
});

/** Makes a tile from rows of pixels. Each character is the label of a pixel; dots are background. */
const labels = (name: string, rows: readonly string[]): Tile => {
  const pixels = Uint8Array.from([...rows.join('')], (label) => (label === '.' ? 0 : Number(label)));
  return { name, read: () => traceLabels(pixels, { width: rows[0]!.length, height: rows.length }) };
};

const person = {
  path: 'person',
  tiles: [
    outlines('north', 'round 0,0 4,0 4,3 0,3; 1,1 2,1 2,2 1,2\nsmall 5,0 7,0 7,2 5,2\n'),
    outlines('south', 'triangle 0,0 6,0 0,4\n'),
  ],
};
const program = {
  path: 'program',
  tiles: [
    labels('north', ['1111...', '1111...', '1111..2']),
    labels('south', ['3333..', '333...', '3.....', '4.....']),
  ],
};

const parse = async ({ name, read }: Tile): Promise<TileSide> => tileSide(read(), { place: name });

async function compare(backend: 'reference' | 'workers') {
  await using context = await open({ backend });
  const csv = csvWriter(emptyTable('pairs'));
  const rows = [csv.begin()];
  const onTile = (tile: TileComparison): void => void rows.push(csv.add(COMPARE_TABLES.pairs(tile)));
  const recorder = recordTrace();
  const run = crossCompare(context, { p: person, q: program, parse, onTile, observer: recorder });
  const { similarity, missing, matching } = await run.result;
  const figures = `J′ ${similarity}, ${missing.p} + ${missing.q} missing, ${matching.matches} matches`;
  const trace = chromeTrace(recorder.trace(run));
  return { figures, rows: rows.join(''), drawing: drawMermaid(run.shape), trace };
}

const [plain, threads] = [await compare('reference'), await compare('workers')];
console.log(threads.rows + threads.figures);
console.log(`The same on both backends: ${plain.rows === threads.rows && plain.figures === threads.figures}.`);

const spans = JSON.parse(threads.trace).traceEvents.filter(({ ph }: { readonly ph: string }) => ph === 'X');
const traced = spans.map(({ name }: { readonly name: string }) => name);
console.log(`Traced: ${[...new Set(traced)].join(', ')}.`);
process.stdout.write(threads.drawing);

// tile,a,b,area_a,area_b,intersection,union,iou,matched
// north,round,1,11,12,11,12,0.9166666666666666,1
// south,triangle,3,12,8,8,12,0.6666666666666666,1
// south,triangle,4,12,1,1,12,0.08333333333333333,0
// J′ 0.5555555555555556, 1 + 1 missing, 2 matches
// The same on both backends: true.
// Traced: parse, build, filter, aggregate, totals.
// flowchart LR
//   n0(["tiles<br/>source · CPU"]):::cpu
//   n1["parse<br/>map · CPU · 2 lanes"]:::cpu
//   n2["build<br/>map · CPU"]:::cpu
//   n3["filter<br/>map · CPU"]:::cpu
//   n4["batch<br/>batch · CPU"]:::cpu
//   n5["aggregate<br/>map · CPU"]:::cpu
//   n6(["totals<br/>sink · CPU"]):::cpu
//   n0 -->|"≤ 2"| n1
//   n1 -->|"≤ 4, 32 MiB"| n2
//   n2 -->|"≤ 4, 32 MiB"| n3
//   n3 -->|"≤ 1"| n4
//   n4 -->|"≤ 4"| n5
//   n5 -->|"≤ 1"| n6
//   classDef cpu fill:#dbe7f6,stroke:#3f6fa8,color:#16202c
//   classDef gpu fill:#dcefd9,stroke:#4b8a43,color:#16202c
//   classDef either fill:#efe3f5,stroke:#8a5aa3,color:#16202c
