/** All that moves the cursor, changes colours, rings, or turns the direction of what follows. */
const unprintable = /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/** Text of others for a line on the console: a terminal must not take it for orders, nor a log file for more lines. */
export function printable(text: string, limit = 300): string {
  return escaped(shorten(text, limit));
}

/** The same for a text that may have several lines. */
export function printableText(text: string): string {
  return text.replace(/[^\n\t]+/g, escaped);
}

/** Both ends of a long text: what it begins with and what it asks in the end. */
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

/** The time of the day as log lines begin with it. */
export function clock(date: Date): string {
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}
