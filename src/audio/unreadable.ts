import { AppError } from '../core/errors.ts';

/** What can be read without anything else installed. */
export const readableFormats = 'WAV, MP3, FLAC, Ogg (Opus, Vorbis, FLAC) or WebM (Opus)';

/** `found` goes on after "and": what was sent instead. */
export function unreadable(found: string, cause?: unknown): AppError {
  const expected = `a recording in ${readableFormats}, and ${found}`;
  return new AppError('invalid-field', { field: 'file', expected }, { cause });
}

/** Sound that is what it says, in a form that nobody here can decode. */
export function undecodable(feature: string, instead: string): AppError {
  const details = { feature, instead: `${instead}, or send ${readableFormats}`, field: 'file' };
  return new AppError('unsupported', details);
}
