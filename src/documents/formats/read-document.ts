import type { ExtractedDocument } from '../../core/documents.ts';
import { AppError } from '../../core/errors.ts';
import { markdownMarks, markdownTitle } from './markdown.ts';
import { decodeText } from './plain-text.ts';
import { sectionsOf } from './sections.ts';

/** The text of a file and its structure. Throws `document-unreadable` for one without text. */
export async function readDocument(name: string, bytes: Uint8Array): Promise<ExtractedDocument> {
  const text = decodeText(bytes);
  if (text === undefined) throw unreadable(name, 'unsupported', 'it is not a text, and its format is not known');
  if (text.trim() === '') throw unreadable(name, 'unsupported', 'it has no text');
  const marks = /\.(md|markdown|mdx)$/i.test(name) ? markdownMarks(text) : [];
  return {
    title: markdownTitle(text, marks) ?? name,
    text,
    sections: sectionsOf(text.length, marks),
    hasLines: true,
  };
}

export function unreadable(name: string, kind: 'unsupported' | 'invalid', reason: string): AppError {
  return new AppError('document-unreadable', { name, kind, reason });
}
