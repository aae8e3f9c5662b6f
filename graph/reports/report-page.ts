import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aNumber, anArrayOf, aRecord, aText, eitherOf, type Kind, optional } from '../../primitives/checks/kinds.ts';
import { escapeMarkup, formatCount } from '../drawings/markup.ts';

/**
 * A section of a report. `text`, `table` and `svg` are optional, and are shown in this order. All contents except `svg`
 * are escaped.
 */
export interface ReportSection {
  readonly title: string;
  readonly text?: string | undefined;
  readonly table?: ReportTable | undefined;
  /** SVG from `drawSvg` or a plot. It is inserted into the page unescaped, so it must come from trusted code. */
  readonly svg?: string | undefined;
}

export interface ReportTable {
  readonly columns: readonly string[];
  /** Rows of cells, one cell per column. Columns of numbers are aligned to the right. */
  readonly rows: readonly (readonly (string | number)[])[];
}

/** Maximum number of rows that the page shows of each table. The page says how many rows are left out. */
const ROWS = 200;

/** A page with a heading and sections. */
export interface ReportPage {
  readonly title: string;
  /** A line of text below the heading. */
  readonly told: string;
  readonly sections: readonly ReportSection[];
}

const aReportTable: Kind = aRecord<ReportTable>({
  columns: anArrayOf(aText),
  rows: anArrayOf(anArrayOf(eitherOf('a text or a number', aText, aNumber))),
});

/** Validator of an array of sections. */
export const someSections: Kind = anArrayOf(
  aRecord<ReportSection>({ title: aText, text: optional(aText), table: optional(aReportTable), svg: optional(aText) }),
);

const aReportPage: Kind = aRecord<ReportPage>({ title: aText, told: aText, sections: someSections });

/**
 * Makes a self-contained HTML page. The page has no script and loads nothing, so it can be mailed and archived.
 *
 * @example
 * const page = reportPage({ title: 'A < B', told: 'in 5 s', sections: [{ title: 'Result', text: '0.7' }] });
 * page.includes('<h1>A &lt; B</h1>') && page.includes('<p class="quiet">0.7</p>'); // true
 */
export function reportPage(page: ReportPage): string {
  requireArguments('reportPage', { page }, { page: aReportPage });
  const { title, told, sections } = page;
  return [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${escapeMarkup(title)}</title>`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<style>${STYLE}</style></head><body><main>`,
    `<h1>${escapeMarkup(title)}</h1><p class="quiet">${escapeMarkup(told)}</p>`,
    ...sections.map(section),
    '</main></body></html>',
    '',
  ].join('\n');
}

const STYLE = [
  'body{margin:0;background:#fff;color:#16202c;font:15px/1.5 system-ui,sans-serif}',
  'main{max-width:1180px;margin:0 auto;padding:24px 20px 48px}',
  'h1{font-size:26px;margin:0 0 4px}h2{font-size:18px;margin:36px 0 8px}',
  '.quiet{color:#52606d;margin:0 0 8px}.wide{overflow-x:auto}svg{display:block}',
  'table{border-collapse:collapse;font-size:13px}',
  'th,td{padding:4px 18px 4px 0;text-align:left;border-bottom:1px solid #e3e7eb;vertical-align:top}',
  'th{font-weight:600;color:#52606d;border-bottom-color:#8c96a0}',
  '.n{text-align:right;font-variant-numeric:tabular-nums}',
].join('');

function section({ title, text, table, svg }: ReportSection): string {
  return [
    `<section><h2>${escapeMarkup(title)}</h2>`,
    text === undefined ? '' : `<p class="quiet">${escapeMarkup(text)}</p>`,
    table === undefined ? '' : tableOf(table),
    svg === undefined ? '' : `<div class="wide">${svg}</div>`,
    '</section>',
  ].join('');
}

function tableOf({ columns, rows }: ReportTable): string {
  const isNumber = columns.map((_, i) => rows.length > 0 && rows.every((row) => isFigure(row[i])));
  const cell = (tag: 'th' | 'td', value: string | number, i: number): string => {
    const text = typeof value === 'number' ? formatCount(value) : value;
    return `<${tag}${isNumber[i] ? ' class="n"' : ''}>${escapeMarkup(text)}</${tag}>`;
  };
  const line = (tag: 'th' | 'td', values: readonly (string | number)[]): string =>
    `<tr>${values.map((value, i) => cell(tag, value, i)).join('')}</tr>`;
  const body = rows.slice(0, ROWS).map((row) => line('td', row));
  const more = rows.length > ROWS ? `<p class="quiet">and ${formatCount(rows.length - ROWS)} more rows</p>` : '';
  return `<div class="wide"><table>${line('th', columns)}${body.join('')}</table></div>${more}`;
}

/** Whether a cell is a number, or a text with a number and a unit. */
function isFigure(value: string | number | undefined): boolean {
  return typeof value === 'number' || /^[≤<]?\s?[\d.,∞]+(\s?[%µA-Za-z]+)?$/.test(value ?? '');
}
