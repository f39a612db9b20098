import type { ExtractedDocument } from '../../core/documents.ts';
import type { Source } from '../../core/server-tools.ts';

interface Span {
  readonly start: number;
  readonly end: number;
}

const [minLength, maxLength] = [80, 600];

/** Paragraphs that can be cited by a number: long ones are cut between sentences, and short ones belong to the next. */
export function citableSpans(text: string, { start, end }: Span): readonly Span[] {
  const spans: Span[] = [];
  let begin = start;
  let last = start;
  const close = (at: number): void => {
    const piece = text.slice(begin, at);
    const from = begin + piece.length - piece.trimStart().length;
    if (piece.trim() !== '') spans.push({ start: from, end: from + piece.trim().length });
    begin = at;
  };
  const unitEnd = /\n[ \t]*\n\s*|[.!?]["')\]]*\s+/g;
  unitEnd.lastIndex = start;
  for (let match = unitEnd.exec(text); match && match.index < end; match = unitEnd.exec(text)) {
    const unit = Math.min(unitEnd.lastIndex, end);
    if (unit - begin > maxLength && last > begin) close(last);
    if (/\n[ \t]*\n/.test(match[0]) && unit - begin >= minLength) close(unit);
    last = unit;
  }
  if (end - begin > maxLength && last > begin) close(last);
  close(end);
  return spans;
}

/** The passages of a document of the request: a page, or else the characters, is where they are. */
export function documentSources(
  { text, sections, pages }: ExtractedDocument,
  { title, index, file }: { readonly title: string; readonly index: number; readonly file?: string | undefined },
): readonly Source[] {
  const of = { type: 'document', index, ...(file !== undefined && { file }) } as const;
  const whole = { start: 0, end: text.length, page: undefined };
  const parts = pages === undefined ? [whole] : pagesOf(sections, text.length);
  return parts.flatMap(({ page, ...part }) =>
    citableSpans(text, part).map(({ start, end }): Source => {
      const range = page === undefined ? { type: 'characters', start, end } : { type: 'page', page };
      return {
        url: '',
        title,
        text: text.slice(start, end),
        location: { ...of, range } as Source['location'] & object,
      };
    }),
  );
}

/** Sections of one page are one part. */
function pagesOf(sections: ExtractedDocument['sections'], length: number) {
  const parts: { start: number; end: number; readonly page: number | undefined }[] = [];
  for (const { start, end, page } of sections) {
    const last = parts.at(-1);
    if (last?.page === page && last) last.end = end;
    else parts.push({ start, end, page });
  }
  return parts.length > 0 ? parts : [{ start: 0, end: length, page: 1 }];
}
