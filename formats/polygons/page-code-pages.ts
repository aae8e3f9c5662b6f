import { type DecodeText, westernText } from './code-pages.ts';

/**
 * Decoders of code pages by their names in iconv-lite, which pages cannot bundle. The platform's decoders do the same, but
 * for bytes without a character: these become U+FFFD here, too. Pages of DOS but 866, and those of the Macintosh, are not known.
 */
export async function pageDecoderOf(name: string): Promise<DecodeText | undefined> {
  if (name === 'utf8') return textDecoder('utf-8');
  const label = SEVERAL_BYTES.get(name);
  if (label !== undefined) return textDecoder(label);
  const letters = lettersOf(name);
  return (
    letters &&
    ((bytes) => {
      let text = '';
      for (const byte of bytes) text += letters[byte]!;
      return text;
    })
  );
}

const SEVERAL_BYTES: ReadonlyMap<string, string> = new Map([
  ['cp932', 'shift_jis'],
  ['shiftjis', 'shift_jis'],
  ['sjis', 'shift_jis'],
  ['cp936', 'gbk'],
  ['gb2312', 'gbk'],
  ['gbk', 'gbk'],
  ['gb18030', 'gb18030'],
  ['cp949', 'euc-kr'],
  ['euckr', 'euc-kr'],
  ['cp950', 'big5'],
  ['big5', 'big5'],
  ['eucjp', 'euc-jp'],
]);

function textDecoder(label: string): DecodeText {
  const decoder = new TextDecoder(label, { ignoreBOM: true });
  return (bytes) => decoder.decode(bytes);
}

/** The letters of the bytes of a page in which each letter is one byte. */
function lettersOf(name: string): readonly string[] | undefined {
  if (name === 'ascii' || name === 'usascii') return lettersBy(() => NONE);
  if (name === 'cp1252') return lettersBy((byte) => known(westernText(byte)));
  const iso = /^iso8859(1|2|3|4|5|6|7|8|9|10|13|14|15)$/.exec(name)?.[1];
  if (iso !== undefined) {
    // What the platform calls by the names of these two has letters for bytes that are control characters.
    const decode = iso === '1' ? westernText : textDecoder(iso === '9' ? 'windows-1254' : `iso-8859-${iso}`);
    return lettersBy((byte) => (byte[0]! < 0xa0 ? String.fromCharCode(byte[0]!) : decode(byte)));
  }
  const windows = /^cp(125[01345678]|874)$/.exec(name)?.[1];
  const label = windows === undefined ? ONE_BYTE.get(name) : `windows-${windows}`;
  if (label === undefined) return undefined;
  const decode = textDecoder(label);
  return lettersBy((byte) => known(decode(byte)));
}

const ONE_BYTE: ReadonlyMap<string, string> = new Map([
  ['cp866', 'ibm866'],
  ['koi8r', 'koi8-r'],
]);

/** The letters of all bytes, of which the first 128 are ASCII. */
function lettersBy(letterOf: (byte: Uint8Array) => string): readonly string[] {
  return Array.from({ length: 256 }, (_, byte) =>
    byte < 0x80 ? String.fromCharCode(byte) : letterOf(Uint8Array.of(byte)),
  );
}

const NONE = '\ufffd';

/** U+FFFD in place of the control characters and private letters by which platforms keep bytes without a letter. */
function known(letter: string): string {
  return /[\x80-\x9f\uf8c1-\uf8c8]/.test(letter) ? NONE : letter;
}
