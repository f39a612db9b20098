import { fetchContent } from '../documents/collections.ts';
import { download } from '../files/download.ts';

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Saves a file of a collection. It is fetched with the key of this page, which a plain link would not send. */
export async function openFile(collection: string, { id, name }: Named): Promise<void> {
  const content = await fetchContent(collection, id);
  download({ name, type: content.type, content });
}

export const isPdf = (name: string): boolean => /\.pdf$/i.test(name);

/** Opens a PDF in the browser at a page. The window is opened before the file is fetched, as the click allows it. */
export async function openPdf(collection: string, { id }: Named, page: number | undefined): Promise<void> {
  const target = open('', '_blank');
  try {
    const content = await fetchContent(collection, id);
    const address = URL.createObjectURL(new Blob([content], { type: 'application/pdf' }));
    const url = page === undefined ? address : `${address}#page=${page}`;
    if (target) target.location.href = url;
    else location.assign(url);
    setTimeout(() => URL.revokeObjectURL(address), 600_000);
  } catch (thrown) {
    target?.close();
    throw thrown;
  }
}
