import { encode } from 'fast-png';
import { BAR, histogramChart } from '../../charts/histogram-chart.ts';
import { hexColor } from '../../charts/rgb.ts';
import {
  countText,
  HAIRLINE,
  INK,
  MARGIN,
  NARROW,
  niceStep,
  placed,
  px,
  svgPage,
  text,
} from '../../charts/zonal-plot/page.ts';
import { inBins, SHOWN_BINS } from './speed-histogram.ts';
import type { TrackFigures } from './tally.ts';
import { trackColor } from './track-color.ts';
import { type TrackScale, type TrackUnits, unitsOf } from './track-scale.ts';

/** Input of a plot. */
export interface TrackPlot {
  readonly figures: TrackFigures;
  readonly scale: TrackScale;
  readonly title: string;
}

const MAP_TOP = 88;
/** Maximum height of the map in pixels. The map keeps the aspect ratio of the video. */
const HIGHEST = 760;
const CHART_HEIGHT = 240;

/**
 * Draws the tracks of a video over its first frame, above a histogram of the speeds, as a standalone SVG. A dot marks
 * the end of a track.
 *
 * @throws PackageError `package/missing` if the optional packages `@observablehq/plot` and `linkedom` are not
 * installed.
 */
export async function trackPlot({ figures, scale, title }: TrackPlot): Promise<string> {
  const units = unitsOf(scale);
  const zoom = Math.min((NARROW - 2 * MARGIN) / figures.width, HIGHEST / figures.height);
  const mapHeight = figures.height * zoom;
  const chartTop = MAP_TOP + mapHeight + 44;
  const hasSpeeds = figures.speeds.count > 0;
  const height = Math.ceil(hasSpeeds ? chartTop + CHART_HEIGHT + MARGIN : MAP_TOP + mapHeight + MARGIN);
  return svgPage({ title, subtitle: subtitle(figures), height }, [
    placed(drawMap(figures, scale, zoom), MARGIN, MAP_TOP),
    ...(hasSpeeds
      ? [
          text(`Speeds, ${units.speed}`, { x: MARGIN, y: chartTop - 12, size: 15, weight: 600 }),
          `<g transform="translate(${MARGIN}, ${chartTop})">${await drawSpeeds(figures, units)}</g>`,
        ]
      : []),
  ]);
}

function subtitle({ tracks, frames, pathsEvery }: TrackFigures): string {
  const thinned = pathsEvery > 1 ? `; paths use the points of every ${ordinal(pathsEvery)} frame` : '';
  return `${plural(tracks, 'track')} in ${plural(frames, 'frame')}, over the first frame${thinned}`;
}

function plural(count: number, thing: string): string {
  return `${countText(count)} ${thing}${count === 1 ? '' : 's'}`;
}

/** Writes a power of two as an ordinal, such as `4th`. */
function ordinal(count: number): string {
  return count % 10 === 2 && count % 100 !== 12 ? `${countText(count)}nd` : `${countText(count)}th`;
}

function drawMap(figures: TrackFigures, scale: TrackScale, zoom: number): string {
  const { width, height, picture, paths } = figures;
  const clip = `<clipPath id="track-frame"><rect width="${px(width * zoom)}" height="${px(height * zoom)}"/></clipPath>`;
  const lines = paths.map(({ track, points }) => {
    const color = hexColor(trackColor(track));
    // Positions are relative to the centre of the upper left pixel, but SVG coordinates are relative to the upper left
    // corner of that pixel. So 0.5 is added.
    const places = points.map(([x, y]) => `${px((x + 0.5) * zoom)},${px((y + 0.5) * zoom)}`);
    const [endX, endY] = places.at(-1)!.split(',');
    const dot = `<circle cx="${endX}" cy="${endY}" r="2.2" fill="${color}" stroke="${INK}" stroke-width="0.6"/>`;
    if (places.length === 1) return dot;
    const path = `d="M${places.join('L')}" fill="none" stroke-linejoin="round" stroke-linecap="round"`;
    return `<path ${path} stroke="${INK}" stroke-opacity="0.55" stroke-width="3"/><path ${path} stroke="${color}" stroke-width="1.5"/>${dot}`;
  });
  return [
    clip,
    picture === undefined ? '' : drawPicture(figures, zoom),
    `<g clip-path="url(#track-frame)">${lines.join('\n')}</g>`,
    drawScaleBar(figures, scale, zoom),
  ].join('\n');
}

function drawPicture({ picture, width, height }: TrackFigures, zoom: number): string {
  const { width: columns, height: rows, data, scale } = picture!;
  // The output of `fast-png` is the same in all versions of Node, unlike the output of Node's zlib.
  const png = Buffer.from(encode({ width: columns, height: rows, channels: 1, depth: 8, data })).toString('base64');
  // The last column and the last row of a reduced picture may extend beyond the frame. So the picture is clipped.
  const size = `width="${px(columns * scale * zoom)}" height="${px(rows * scale * zoom)}"`;
  const frame = `width="${px(width * zoom)}" height="${px(height * zoom)}" fill="none" stroke="${HAIRLINE}"`;
  return (
    `<g clip-path="url(#track-frame)"><image ${size} preserveAspectRatio="none" href="data:image/png;base64,${png}"/></g>` +
    `<rect ${frame}/>`
  );
}

/** Approximate length of the scale bar, as a fraction of the frame's width. */
const BAR_SHARE = 0.2;

function drawScaleBar({ width, height }: TrackFigures, { pixelSize }: TrackScale, zoom: number): string {
  if (pixelSize === undefined) return '';
  const length = niceStep((BAR_SHARE * width * pixelSize) / 2);
  const wide = (length / pixelSize) * zoom;
  const [x, y] = [width * zoom - wide - 12, height * zoom - 14];
  return (
    `<g><rect x="${px(x - 8)}" y="${px(y - 22)}" width="${px(wide + 16)}" height="32" fill="#000" fill-opacity="0.55" rx="3"/>` +
    `<rect x="${px(x)}" y="${px(y)}" width="${px(wide)}" height="3" fill="#fff"/>` +
    `${text(`${length} µm`, { x: x + wide / 2, y: y - 6, size: 12, fill: '#fff', anchor: 'middle' })}</g>`
  );
}

function drawSpeeds({ speeds }: TrackFigures, { speedFactor }: TrackUnits): Promise<string> {
  const bins = inBins(speeds, SHOWN_BINS);
  const width = bins.width * speedFactor;
  const bars = Array.from(bins.counts, (count, bin) => ({
    ...{ lower: bin * width, upper: (bin + 1) * width, count, color: BAR },
  }));
  const median = speeds.quantile(0.5) * speedFactor;
  return histogramChart({
    height: CHART_HEIGHT,
    bars,
    end: Math.max(width, bars.length * width),
    label: 'from one frame to the next, of each cell',
    ticks: { x: 8, y: 5 },
    named: { x: median, name: `median ${median.toPrecision(3)}` },
  });
}
