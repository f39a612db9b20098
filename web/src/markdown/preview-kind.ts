export type PreviewKind = 'diagram' | 'picture' | 'page';

/** How a code block can be shown, other than as code. */
export function previewKind(language: string, text: string): PreviewKind | undefined {
  const name = language.toLowerCase();
  if (name === 'mermaid') return 'diagram';
  if ((name === 'svg' || name === 'xml' || name === 'html') && isSvg(text)) return 'picture';
  return name === 'html' || name === 'xhtml' ? 'page' : undefined;
}

function isSvg(text: string): boolean {
  return /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[\s\S]*?-->\s*)*<svg[\s>]/i.test(text) && /<\/svg>\s*$/i.test(text);
}
