import type { Context } from '../primitives/context/context.ts';
import type { BuildParts } from './index-build.ts';
import type { InfoParts } from './index-info.ts';
import type { DrawParts } from './index-outputs.ts';
import type { QueryParts } from './index-query.ts';
import { zonalParts } from './parts.ts';

/** The functions that draw trees. Their code is imported when first needed. */
const drawParts: DrawParts = {
  async drawTree(file, format, options) {
    if (format === 'png') {
      const { quadrantImage } = await import('../formats/quadrant-plot/image.ts');
      return quadrantImage(file, options);
    }
    const { quadrantPlot } = await import('../formats/quadrant-plot.ts');
    return quadrantPlot(file, options);
  },
};

/** The functions that `quadrille index build` uses. Their code is imported when first needed. */
export const buildParts: BuildParts<Context> = {
  ...drawParts,
  async openLayer(file, options) {
    const { openPolygonLayer } = await import('../formats/polygon-layers/open-polygon-layer.ts');
    return openPolygonLayer(file, options);
  },
  openContext: zonalParts.openContext,
  async buildTree(context, job) {
    const { buildTree } = await import('./index-graph.ts');
    return buildTree(context, job);
  },
  async encodeTree(file) {
    const { encodeMaq } = await import('../formats/maq-file.ts');
    return encodeMaq(file);
  },
};

/** The functions that `quadrille index info` uses. */
export const infoParts: InfoParts = {
  ...drawParts,
  async openTree(path, signal, memoryBytes) {
    const { openTreeFile } = await import('./index-tree-file.ts');
    return openTreeFile(path, signal, memoryBytes);
  },
};

/** The functions that `quadrille index query` uses. Their code is imported when first needed. */
export const queryParts: QueryParts<Context> = {
  openTree: infoParts.openTree,
  openLayer: buildParts.openLayer,
  async openRows(file, options) {
    const { openCsvRows } = await import('../formats/csv-rows.ts');
    return openCsvRows(file, options);
  },
  openContext: zonalParts.openContext,
  async askTree(context, job) {
    const { askTree } = await import('./index-ask.ts');
    return askTree(context, job);
  },
};
