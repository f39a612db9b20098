/** What another app shares besides files. Many put the address into the text, and the text into the title. */
interface SharedWords {
  readonly title: string;
  readonly text: string;
  readonly url: string;
}

/** The parts as one message, each said once. */
export function sharedText({ title, text, url }: SharedWords): string {
  const parts = [title, text, url].map((part) => part.trim());
  return parts
    .filter(
      (part, index) => part !== '' && !parts.some((other, at) => at !== index && contains(other, part, index < at)),
    )
    .join('\n');
}

/** Of two equal parts the later one counts. */
function contains(other: string, part: string, earlier: boolean): boolean {
  return other === part ? earlier : other.includes(part);
}
