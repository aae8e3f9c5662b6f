/** Parses RFC 4180 text with LF line ends. Throws if the text does not follow the grammar. */
export function parseCsv(text: string): string[][] {
  const records: string[][] = [];
  let record: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\n)/y;
  while (field.lastIndex < text.length) {
    const match = field.exec(text);
    if (match === null) throw new SyntaxError('not RFC 4180');
    record.push(match[1]?.replaceAll('""', '"') ?? match[2]!);
    if (match[3] === '\n') {
      records.push(record);
      record = [];
    }
  }
  if (record.length > 0) throw new SyntaxError('last record is not ended');
  return records;
}
