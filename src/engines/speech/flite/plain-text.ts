/** Letters that are no letter with a mark, and marks that have a plain form. */
const plainForms: Readonly<Record<string, string>> = {
  '\u00df': 'ss',
  '\u00e6': 'ae',
  '\u00c6': 'AE',
  '\u0153': 'oe',
  '\u0152': 'OE',
  '\u00f8': 'o',
  '\u00d8': 'O',
  '\u0142': 'l',
  '\u0141': 'L',
  '\u0111': 'd',
  '\u00f0': 'd',
  '\u00fe': 'th',
  '\u2018': "'",
  '\u2019': "'",
  '\u201c': '"',
  '\u201d': '"',
  '\u2013': ' - ',
  '\u2014': ' - ',
  '\u2026': '...',
  '\u20ac': ' euros ',
  '\u00a3': ' pounds ',
  '\u00b0': ' degrees ',
  '\u00d7': ' times ',
  '\u3002': '. ',
};

export interface PlainText {
  readonly text: string;
  /** Letters and digits that are not in it any more. */
  readonly lost: number;
}

/**
 * What a voice that knows English spelling and ASCII alone can read: marks are taken off letters, and what is not Latin is
 * left out and counted.
 */
export function plainText(text: string): PlainText {
  let lost = 0;
  const plain = text
    .replace(/[^\0-\x7f]/gu, (character) => plainForms[character] ?? character)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\0-\x7f]/gu, (character) => {
      const form = plainForms[character];
      if (form === undefined && /[\p{L}\p{N}]/u.test(character)) lost += 1;
      return form ?? ' ';
    })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they would end what the program reads
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g, ' ');
  return { text: plain, lost };
}
