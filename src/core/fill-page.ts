/** Replaces everything between the two markers of a page, `<!-- name -->` and `<!-- /name -->`, by a text. */
export function fillPage(page: string, name: string, text: string): string {
  const [opening, closing] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const start = page.indexOf(opening);
  const end = page.indexOf(closing);
  if (start === -1 || end < start) throw new Error(`The page needs a line ${opening} and a line ${closing} after it.`);
  return `${page.slice(0, start)}${opening}\n\n${text.trimEnd()}\n\n${page.slice(end)}`;
}
