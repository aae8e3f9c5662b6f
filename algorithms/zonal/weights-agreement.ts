import { ArgumentError } from '../../primitives/checks/errors.ts';
import { gridKey, type RasterSource } from '../geometry/raster.ts';
import { weightFloat } from './exact-sums.ts';

/**
 * Throws if weights cannot be those of the cells of a raster.
 *
 * @throws ArgumentError `zonal/weights-grid`, `zonal/weights-crs`, `zonal/weights-samples` or `zonal/weights-scaling`.
 */
export function requireWeightsOn(raster: RasterSource, weights: RasterSource): void {
  const flaw = flawOf(raster, weights);
  if (flaw === undefined) return;
  const { code, sentence, ...details } = flaw;
  throw new ArgumentError(code, sentence, { ...details, place: { file: weights.file } });
}

interface Flaw {
  readonly code: string;
  readonly sentence: string;
  readonly expected: string;
  readonly got: string;
  readonly remedy: string;
}

function flawOf(raster: RasterSource, weights: RasterSource): Flaw | undefined {
  const { geographic, file = 'the raster' } = raster;
  const [expected, got] = [gridKey(raster), gridKey({ ...weights, geographic })];
  if (expected !== got) {
    return {
      ...{ code: 'zonal/weights-grid', sentence: `The weights are on another grid than ${file}.` },
      ...{ expected: gridText(raster), got: gridText(weights) },
      remedy: `Bring the weights to the grid of the raster, for example with ${warpTo(raster)} -r bilinear (-r sum for numbers of people).`,
    };
  }
  const [system, own] = [raster, weights].map(({ crs, ownCrs }) => crs ?? ownCrs);
  if (system !== undefined && own !== undefined && system !== own) {
    return {
      ...{ code: 'zonal/weights-crs', sentence: `The weights are in another coordinate system than ${file}.` },
      ...{ expected: system, got: own },
      remedy: 'Warp the weights to the system of the raster, for example with gdalwarp -t_srs.',
    };
  }
  if (weightFloat(weights.sample) === undefined) {
    return {
      ...{ code: 'zonal/weights-samples', sentence: 'Weights cannot be integers of 64 bits.' },
      ...{ expected: 'weights that f64 holds exactly', got: weights.sample },
      remedy: 'Convert them, for example with gdal_translate -ot Float64.',
    };
  }
  if (weights.scaling === undefined) return undefined;
  const { scale, offset } = weights.scaling;
  return {
    ...{ code: 'zonal/weights-scaling', sentence: 'The weights have a scale and an offset.' },
    ...{ expected: 'weights that are stored as they are meant', got: `scale ${scale} and offset ${offset}` },
    remedy: 'Store them unscaled, for example with gdal_translate -unscale -ot Float64.',
  };
}

function gridText({ width, height, originX, originY, stepX, stepY }: RasterSource): string {
  return `${width} × ${height} cells of ${stepX} × ${stepY} from (${originX}, ${originY})`;
}

/** The command that brings a raster to a grid. */
function warpTo({ width, height, originX, originY, stepX, stepY }: RasterSource): string {
  const [right, other] = [originX + width * stepX, originY + height * stepY];
  const edges = [
    Math.min(originX, right),
    Math.min(originY, other),
    Math.max(originX, right),
    Math.max(originY, other),
  ];
  return `gdalwarp -te ${edges.join(' ')} -ts ${width} ${height}`;
}
