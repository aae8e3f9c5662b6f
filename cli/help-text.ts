/** The widest lines of help: longer ones are hard to read. */
const WIDEST = 100;
const NARROWEST = 40;

/** The number of characters of a line of help on a stream: as the variable COLUMNS or the terminal says, at most 100. */
export function helpWidth(
  stream: { readonly columns?: number | undefined },
  environment: Readonly<Record<string, string | undefined>> = process.env,
): number {
  const given = Number(environment.COLUMNS);
  const columns = Number.isInteger(given) && given > 0 ? given : (stream.columns ?? WIDEST);
  return Math.max(NARROWEST, Math.min(WIDEST, columns));
}

/** Lines of a text that belong together. */
interface Block {
  /** What comes before the words: blanks, or the name of an option. */
  readonly head: string;
  words: string;
}

/**
 * Breaks the lines of a help text so that none is longer than `width`, where words allow it. Lines of a paragraph have the
 * same indentation; a colon at the end of a line ends it. A line with a name, two blanks and words is an entry, whose further
 * lines begin below its words. The first lines, up to a blank one, are command lines. Those below `Example:` stay as they are,
 * so that they can be copied.
 */
export function wrapHelp(text: string, width: number): string {
  const lines: string[] = [];
  let block: Block | undefined;
  let [isExample, isUsage] = [false, true];
  const end = (): void => {
    if (block !== undefined) appendLines(lines, block, block.head.length, width);
    block = undefined;
  };
  for (const line of text.split('\n')) {
    if (line === '') [isExample, isUsage] = [false, false];
    const indent = line.length - line.trimStart().length;
    const entry = ENTRY.exec(line);
    const continues = block?.head.length === indent && entry === null && !/^ +quadrille /.test(line);
    if (line === '' || isExample) {
      end();
      lines.push(line);
    } else if (isUsage) appendLines(lines, { head: '', words: line }, USAGE_MARGIN, width);
    else if (continues) block!.words += ` ${line.trim()}`;
    else {
      end();
      const [head, words] = entry === null ? [' '.repeat(indent), line.trim()] : [entry[1]!, entry[2]!];
      block = { head, words };
    }
    if (line.endsWith(':')) end();
    isExample ||= /^Examples?:$/.test(line);
  }
  end();
  return lines.join('\n');
}

/** The beginning of an entry with the blanks before its words, and these. */
const ENTRY = /^( *\S+(?: \S+)* {2,})(\S.*)$/;

/** Where further lines of a command line begin. */
const USAGE_MARGIN = 4;
/** Where words of an entry begin that have no room beside its name. */
const OWN_LINE = 8;

function appendLines(lines: string[], { head, words }: Block, hanging: number, width: number): void {
  const isNarrow = head.length > width / 2;
  const margin = ' '.repeat(isNarrow ? OWN_LINE : hanging);
  if (isNarrow) lines.push(head.trimEnd());
  let line = isNarrow ? margin : head;
  let isEmpty = true;
  for (const word of words.split(' ')) {
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line);
      [line, isEmpty] = [margin, true];
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  lines.push(line);
}
