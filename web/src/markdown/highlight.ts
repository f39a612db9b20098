import highlighter from 'highlight.js/lib/common';

/** Colours code in place; a language that nobody knows stays plain. What comes back is escaped and has classes only. */
export function highlightCode(code: HTMLElement, text: string, language: string): void {
  if (!highlighter.getLanguage(language)) return;
  code.innerHTML = highlighter.highlight(text, { language, ignoreIllegals: true }).value;
}
