// Runs in the page, as the file of a language does, and in tests of its own.

const accents: Readonly<Record<string, string>> = { a: 'á', e: 'é', i: 'í', o: 'ó', u: 'ú', y: 'ý' };
/** What stays as it is in every language: flags, macros, addresses, patterns and names of files. */
const verbatim = /(--[\w-]+|\{\{\w+\}\}|\$\{\w+\}|https?:\/\/\S+|`[^`]*`|\S*[/\\*]\S+|\w+\.\w+|Parley)/;

/** Each vowel is there twice, and has an accent: longer by 40 %, and still readable. Accented once, it stays as it is. */
export function accented(text: string): string {
  const isVerbatim = new RegExp(`^${verbatim.source}$`);
  const twice = (letter: string) => {
    const accent = accents[letter.toLowerCase()] ?? letter;
    return letter === letter.toLowerCase() ? accent + accent : accent.toUpperCase() + accent;
  };
  return text
    .split(verbatim)
    .map((piece) => (isVerbatim.test(piece) ? piece : piece.replace(/[aeiouy]/gi, twice)))
    .join('');
}

/** The English texts of all areas in the pseudo-language. Arguments, such as names of models, stay as they are. */
export function pseudo(english: unknown): unknown {
  if (typeof english === 'string') return accented(english);
  if (typeof english === 'function')
    return (...args: unknown[]) => {
      const names = args.flat().filter((arg) => typeof arg === 'string' && arg !== '') as string[];
      return names.reduce((text, name) => text.replaceAll(accented(name), name), accented(String(english(...args))));
    };
  if (Array.isArray(english)) return english.map(pseudo);
  return Object.fromEntries(Object.entries(english as object).map(([key, text]) => [key, pseudo(text)]));
}
