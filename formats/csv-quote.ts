/**
 * Puts an apostrophe before a text that a spreadsheet would take for a formula: one that begins with `=`, `+`, `-`, `@`,
 * a tab or a carriage return.
 */
export function disarmed(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

/** Puts a CSV field in quotes if it contains characters that require them. */
export function quote(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}
