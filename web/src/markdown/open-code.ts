export interface OpenCode {
  /** The opening line. */
  readonly opening: string;
  readonly language: string;
  readonly body: string;
}

/** A code block without a closing fence; undefined for any other block. */
export function openCode(markdown: string): OpenCode | undefined {
  const [whole, marks = '', info = ''] = /^(`{3,}|~{3,})([^\n]*)\n/.exec(markdown) ?? [];
  if (whole === undefined) return undefined;
  const body = markdown.slice(whole.length);
  const end = new RegExp(`^ {0,3}${marks.charAt(0)}{${marks.length},}[ \\t]*$`, 'm');
  if (end.test(body)) return undefined;
  return { opening: whole, language: info.trim().split(/\s/, 1)[0] ?? '', body };
}
