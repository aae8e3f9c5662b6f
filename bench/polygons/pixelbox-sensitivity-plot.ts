import { axisX, axisY, dot, gridY, text as label, line, plot } from '@observablehq/plot';
import { HAIRLINE, INK, MARGIN, MUTED, text, WIDTH } from '../../formats/zonal-plot/page.ts';

/** One figure: several named lines over a logarithmic axis. */
export interface Curve {
  readonly title: string;
  readonly axis: string;
  readonly ticks: readonly number[];
  readonly points: readonly { readonly name: string; readonly x: number; readonly milliseconds: number }[];
}

const HEIGHT = 460;
const TOP = 64;
/** Colours by Okabe and Ito, 2008, that people with colour blindness can tell apart. */
const COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];

/** Draws two figures side by side, as a standalone SVG. */
export async function drawCurves(curves: readonly [Curve, Curve]): Promise<string> {
  const { parseHTML } = await import('linkedom');
  const { document } = parseHTML('<!doctype html><html><body></body></html>');
  const width = (WIDTH - 3 * MARGIN) / 2;
  const drawn = curves.map((curve, i) => {
    const left = MARGIN + i * (width + MARGIN);
    const heading = text(curve.title, { x: left, y: 40, size: 16, weight: 600 });
    const chart = drawCurve(curve, width, document as unknown as Document);
    return `${heading}<g transform="translate(${left}, ${TOP})" font-size="11" text-anchor="middle" fill="${INK}">${chart}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT + TOP}" viewBox="0 0 ${WIDTH} ${HEIGHT + TOP}" ` +
      `font-family="system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif">`,
    '<title>PixelBox: time by scale, and by threshold</title>',
    '<rect width="100%" height="100%" fill="#fff"/>',
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

function drawCurve({ points, axis, ticks }: Curve, width: number, document: Document): string {
  const names = [...new Set(points.map(({ name }) => name))];
  const ends = names.map((name) => points.filter((point) => point.name === name).at(-1)!);
  const lines = { x: 'x', y: 'milliseconds', stroke: 'name' } as const;
  const chart = plot({
    document,
    width,
    height: HEIGHT,
    marginLeft: 52,
    marginRight: 74,
    marginBottom: 44,
    x: { type: 'log', label: null },
    y: { type: 'log', label: null },
    color: { domain: names, range: COLORS },
    marks: [
      gridY({ stroke: HAIRLINE, strokeOpacity: 1 }),
      axisY({ tickSize: 0, color: MUTED, label: 'milliseconds', labelAnchor: 'top' }),
      axisX(ticks, { tickSize: 3, color: MUTED, text: (tick: number) => String(tick), label: axis }),
      line(points, { ...lines, z: 'name', strokeWidth: 1.8 }),
      dot(points, { ...lines, fill: 'name', r: 2.2 }),
      label(ends, { x: 'x', y: 'milliseconds', text: 'name', fill: 'name', dx: 8, textAnchor: 'start' }),
    ],
  });
  chart.querySelector('style')?.remove();
  return chart.innerHTML;
}
