import { latin1Text } from '../bytes/byte-arrays.ts';

/** Decodes the bytes of a text. */
export type DecodeText = (bytes: Uint8Array) => string;

/** The decoder of a code page by its name in iconv-lite; undefined if the platform does not know it. */
export type DecoderOf = (name: string) => Promise<DecodeText | undefined>;

/**
 * Returns the decoder for a code page as `.cpg` files name it: `UTF-8`, `936`, `CP936`, `GBK`, `OEM 850`, `ANSI 1251`,
 * `ISO 8859-1`, `88591`, `LDID/19`. Undefined if the page is not known.
 */
export async function decoderOfPage(label: string, decoderOf: DecoderOf): Promise<DecodeText | undefined> {
  const name = label.toLowerCase().replace(/[^a-z0-9]/g, '');
  const language = /^ldid(\d+)$/.exec(name);
  if (language !== null) return decoderOfLanguage(Number(language[1]), decoderOf);
  if (/^(cp)?(utf8|65001)$/.test(name)) return decoderOf('utf8');
  const page = /^(?:ansi|oem|windows|win|codepage|cp|ibm|ms|dos)?(\d{3,6})$/.exec(name)?.[1];
  if (page?.startsWith('8859')) return decoderOf(`iso${page}`);
  const numbered = page === undefined ? undefined : await decoderOf(nameOfPage(`cp${page}`));
  return numbered ?? (name === '' ? undefined : decoderOf(nameOfPage(page ?? name)));
}

/** Returns the decoder for the language byte of a dBASE file. Undefined if the byte names no page, or an unknown one. */
export async function decoderOfLanguage(byte: number, decoderOf: DecoderOf): Promise<DecodeText | undefined> {
  const page = Object.entries(LANGUAGES).find(([, bytes]) => bytes.includes(byte))?.[0];
  return page === undefined ? undefined : decoderOf(nameOfPage(`cp${page}`));
}

/**
 * Whether the language byte of a dBASE file names a code page, known or not. 0 names none, and 87 the page of the system
 * that wrote the file.
 */
export function namesPage(byte: number): boolean {
  return byte !== 0 && byte !== 87;
}

/** Language bytes of dBASE files by their code pages, as FoxPro, dBASE IV and Esri's software define them. */
const LANGUAGES: Readonly<Record<string, readonly number[]>> = {
  437: [1, 11, 13, 15, 17, 21, 24, 25, 27],
  737: [106, 134],
  850: [2, 10, 14, 16, 18, 20, 22, 26, 29, 37, 55],
  852: [31, 34, 35, 64, 100, 135],
  857: [107, 136],
  860: [36],
  861: [103],
  863: [28, 108],
  865: [8, 23, 102],
  866: [38, 101],
  874: [80, 124],
  932: [19, 123],
  936: [77, 122],
  949: [78, 121],
  950: [79, 120],
  1250: [200],
  1251: [201],
  1252: [3, 88, 89],
  1253: [203],
  1254: [202],
  1255: [125],
  1256: [126],
  1257: [204],
  10000: [4],
  10006: [152],
  10007: [150],
  10029: [151],
};

/** Code pages of US-ASCII and of the Macintosh, and their names in iconv-lite. */
const OTHERS: ReadonlyMap<string, string> = new Map([
  ['cp20127', 'ascii'],
  ['cp10000', 'macintosh'],
  ['cp10006', 'macgreek'],
  ['cp10007', 'maccyrillic'],
  ['cp10010', 'macromania'],
  ['cp10029', 'maccenteuro'],
  ['cp10079', 'maciceland'],
  ['cp10081', 'macturkish'],
  ['cp10082', 'maccroatian'],
]);

function nameOfPage(page: string): string {
  return OTHERS.get(page) ?? page;
}

/** Bytes 0x80 to 0x9f of Windows-1252. Node 20 has no `TextDecoder` that decodes them. */
const WESTERN = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/** Decodes Windows-1252, in which every byte is a character. */
export function westernText(bytes: Uint8Array): string {
  return latin1Text(bytes).replace(/[\x80-\x9f]/g, (letter) => WESTERN[letter.charCodeAt(0) - 0x80]!);
}
