/** Control characters, and marks that change the text direction. */
const unprintable = /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/** Untrusted text for one line of the console, with control characters escaped. */
export const printable = (text: string, limit = 300): string => escaped(shorten(text, limit));

/** The same for text of several lines. */
export const printableText = (text: string): string => text.replace(/[^\n\t]+/g, escaped);

/** Start and end of a long text. */
export function shorten(text: string, limit = 400): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  return `${text.slice(0, half)} … ${text.slice(-half)}`;
}

function escaped(text: string): string {
  return text.replace(unprintable, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** `14:05:09` */
export function clock(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}
