import { aFlag, type FieldKinds } from '../../primitives/checks/kinds.ts';

/**
 * Puts an apostrophe before a text that a spreadsheet would take for a formula: one that begins with `=`, `+`, `-`, `@`,
 * a tab or a carriage return.
 */
export function disarmed(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

/** Options of writers of CSV. */
export interface CsvOptions {
  /**
   * Whether an apostrophe is put before texts that a spreadsheet would take for formulas: those that begin with `=`, `+`,
   * `-`, `@`, a tab or a carriage return. Default false.
   */
  readonly quoteFormulas?: boolean | undefined;
}

export const CSV_OPTIONS: FieldKinds<CsvOptions> = { quoteFormulas: aFlag };

/** A function that writes a text as a field. */
export function fieldWriter({ quoteFormulas = false }: CsvOptions): (text: string) => string {
  return quoteFormulas ? (text) => quote(disarmed(text)) : quote;
}

/** Puts a CSV field in quotes if it contains characters that require them. */
function quote(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}
