export interface ExportedFile {
  readonly name: string;
  readonly type: string;
  readonly content: string;
}

/** Saves a file from the page. */
export function download({
  name,
  type,
  content,
}: Omit<ExportedFile, 'content'> & { readonly content: BlobPart }): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

const maxLength = 80;

/** A title as a file name for any system. */
export function fileName(title: string, extension: string): string {
  const cleaned = title.replace(/[\p{Cc}\\/:*?"<>|]+/gu, ' ').replace(/\s+/g, ' ');
  const stem = cleaned
    .replace(/^[. ]+/, '')
    .slice(0, maxLength)
    .replace(/[. ]+$/, '');
  return (stem || 'untitled') + extension;
}

export function downloadJson(title: string, value: unknown, { extension = '.json', indent = 1 } = {}): void {
  const content = JSON.stringify(value, undefined, indent);
  download({ name: fileName(title, extension), type: 'application/json', content });
}
