import type { Section } from '../../core/documents.ts';

/** What begins at a place of a text. */
export type Mark = { readonly at: number } & (
  | { readonly type: 'heading'; readonly level: number; readonly title: string }
  | { readonly type: 'kind'; readonly kind: Section['kind'] }
  | { readonly type: 'page'; readonly page: number }
);

const maxHeadingLength = 200;
const maxHeadingDepth = 12;

/** The sections of a text between its marks, which are in order. A section without any text is left out. */
export function sectionsOf(length: number, marks: readonly Mark[]): Section[] {
  const sections: Section[] = [];
  let path: { readonly level: number; readonly title: string }[] = [];
  let headings: readonly string[] = [];
  let kind: Section['kind'] = 'text';
  let page: number | undefined;
  let start = 0;
  const close = (end: number): void => {
    if (end > start) sections.push({ start, end, headings, kind, ...(page !== undefined && { page }) });
    start = Math.max(start, end);
  };
  for (const mark of marks) {
    close(mark.at);
    if (mark.type === 'page') page = mark.page;
    else if (mark.type === 'kind') kind = mark.kind;
    else {
      const title = mark.title.replace(/\s+/g, ' ').trim().slice(0, maxHeadingLength);
      path = path.filter(({ level }) => level < mark.level).slice(0, maxHeadingDepth - 1);
      if (title !== '') path.push({ level: mark.level, title });
      headings = path.map((heading) => heading.title);
      kind = 'text';
    }
  }
  close(length);
  return sections;
}
