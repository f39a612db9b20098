import { readZip } from '../../files/zip.ts';
import { inSlices } from '../yielding.ts';

/** Documents that are neither PDF nor plain text. */
type DocumentFormat = 'docx' | 'odt' | 'epub' | 'rtf';

const types: Readonly<Record<string, DocumentFormat>> = {
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.oasis.opendocument.text': 'odt',
  'application/epub+zip': 'epub',
  'application/rtf': 'rtf',
  'text/rtf': 'rtf',
};

export function documentFormat({ name, type }: { readonly name: string; readonly type: string }) {
  const ending = /\.(docx|odt|epub|rtf)$/i.exec(name)?.[1]?.toLowerCase() as DocumentFormat | undefined;
  return ending ?? types[type.split(';')[0]?.trim().toLowerCase() ?? ''];
}

/** The text of a document, with Markdown for headings, lists and tables. */
export async function documentText(file: Blob, format: DocumentFormat): Promise<string> {
  if (format === 'rtf') {
    const { rtfText } = await import('../../../../src/documents/formats/rtf.ts');
    return inSlices(rtfText(await file.text()));
  }
  const office = await import('../../../../src/documents/formats/office.ts');
  const entries = await readZip(new Uint8Array(await file.arrayBuffer()));
  const read = { docx: office.docxText, odt: office.odtText, epub: office.epubText }[format];
  const { text } = await read(entries, inSlices);
  return text;
}
