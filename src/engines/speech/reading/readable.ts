/** Languages that are normalised; others are left to eSpeak. */
export type ReadingLanguage = 'en' | 'other';

export function readableText(text: string, _language: ReadingLanguage): string {
  return text;
}
