import { texts } from './texts.ts';

/** The longest text that is fast to edit in a text field: browsers lay out all of it with each key. */
export const maxFieldText = 50_000;
/** Longer texts get a field of fixed height: measuring them takes as long as their layout. */
export const maxSizedText = 4000;
/** Size of a part of a long text in an editor. */
const maxPart = 40_000;

const kilobyte = 1024;

/** Size for people, such as `5.0 MB`. */
export function sizeLabel(bytes: number): string {
  const megabytes = bytes / kilobyte / kilobyte;
  if (megabytes >= 0.95) return `${megabytes.toFixed(megabytes < 9.95 ? 1 : 0)} MB`;
  return bytes < kilobyte ? `${bytes} bytes` : `${Math.round(bytes / kilobyte)} KB`;
}

export function pastedName(text: string): string {
  return texts.pasted.name(sizeLabel(new Blob([text]).size));
}

/** True if pasted text becomes a file: it is longer than the limit of the settings, or the field would be slow with it. */
export function becomesFile(pasted: string, fieldLength: number, limit: number): boolean {
  const maxLength = limit > 0 ? limit : Number.POSITIVE_INFINITY;
  return pasted.length > maxLength || pasted.length + fieldLength > maxFieldText;
}

/** Parts of a long text, cut at line ends where there are some. Joined they are the text. */
export function partsOf(text: string, maxLength = maxPart): string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length; ) {
    let to = Math.min(text.length, from + maxLength);
    if (to < text.length) {
      const line = text.lastIndexOf('\n', to - 1) + 1;
      if (line > from + maxLength / 2) to = line;
      // A surrogate pair is one character.
      else if (/[\uD800-\uDBFF]/.test(text.charAt(to - 1))) to -= 1;
    }
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts.length > 0 ? parts : [''];
}
