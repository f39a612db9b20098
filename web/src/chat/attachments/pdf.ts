import { GlobalWorkerOptions, getDocument } from 'pdfjs-dist';
import worker from 'pdfjs-dist/build/pdf.worker.min.mjs?url';

GlobalWorkerOptions.workerSrc = worker;
const maxPages = 2000;

/** The text of a PDF, page by page. Pages after the first begin with their number, so that passages can name it. */
export async function textOfPdf(file: Blob): Promise<string> {
  const task = getDocument({
    data: new Uint8Array(await file.arrayBuffer()),
    isEvalSupported: false,
    disableFontFace: true,
  });
  try {
    const pdf = await task.promise;
    const pages: string[] = [];
    for (let number = 1; number <= Math.min(pdf.numPages, maxPages); number += 1) {
      const { items } = await (await pdf.getPage(number)).getTextContent();
      pages.push(items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join(''));
    }
    return pages
      .map((page, index) => (index === 0 ? page.trim() : `[Page ${index + 1}]\n${page.trim()}`))
      .filter((page) => !/^(\[Page \d+\]\n)?$/.test(page))
      .join('\n\n');
  } finally {
    await task.destroy();
  }
}
