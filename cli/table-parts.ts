import type { Context } from '../primitives/context.ts';
import { zonalParts } from './parts.ts';
import type { TableParts } from './table.ts';
import { openTableFile } from './table-files.ts';

/** The real parts of `quadrille table`, each loaded on first use. */
export const tableParts: TableParts<Context> = {
  openTable: openTableFile,
  openContext: zonalParts.openContext,
  async loadSession() {
    const { tableSession } = await import('./table-session.ts');
    return tableSession;
  },
};
