/** A PDF with these lines on its pages, each with the size of its letters. */
export function pdfOf(pages: readonly (readonly (readonly [number, string])[])[]): Uint8Array {
  const objects = ['<</Type/Catalog/Pages 2 0 R>>', ''];
  const add = (object: string): number => objects.push(object);
  const font = add('<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>');
  const kids = pages.map((lines) => {
    let top = 750;
    const shown = lines.map(([size, text]) => {
      top -= size * 2.5;
      return `BT /F1 ${size} Tf 50 ${top} Td (${text.replace(/[\\()]/g, '\\$&')}) Tj ET`;
    });
    const content = shown.join('\n');
    const stream = add(`<</Length ${content.length}>>stream\n${content}\nendstream`);
    return add(
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents ${stream} 0 R/Resources<</Font<</F1 ${font} 0 R>>>>>>`,
    );
  });
  objects[1] = `<</Type/Pages/Count ${kids.length}/Kids[${kids.map((kid) => `${kid} 0 R`).join(' ')}]>>`;
  let file = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const start = file.length;
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(file, 'latin1');
}
