/** A title with an ending as the name of a file on any system. */
export function fileName(name: string): string {
  const cleaned = name.replace(/[\p{Cc}\\/:*?"<>|]+/gu, ' ').replace(/\s+/g, ' ');
  const [, stem = '', ending = ''] = /^(.*?)(\.\w+)?[. ]*$/.exec(cleaned) ?? [];
  return `${stem.replace(/^[. ]+|[. ]+$/g, '') || 'untitled'}${ending}`;
}
