import highlighter from 'highlight.js/lib/common';

/** Highlights code in place. Unknown languages stay plain. The result is escaped and contains only classes. */
export function highlightCode(code: HTMLElement, text: string, language: string): void {
  if (!highlighter.getLanguage(language)) return;
  code.innerHTML = highlighter.highlight(text, { language, ignoreIllegals: true }).value;
}
