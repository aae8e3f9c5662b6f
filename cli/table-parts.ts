import type { Context } from '../primitives/context/context.ts';
import { zonalParts } from './parts.ts';
import type { TableParts } from './table.ts';
import { openTableFile } from './table-files.ts';

/** The functions that `quadrille table` uses. Their code is imported when first needed. */
export const tableParts: TableParts<Context> = {
  openTable: openTableFile,
  openContext: zonalParts.openContext,
  async loadSession() {
    const { tableSession } = await import('./table-session.ts');
    return tableSession;
  },
};
