import { collapsed } from './page-text.ts';

const mostBytes = 500;

/** One line without needless space, cut between two characters. */
export function plainQuery(text: string): string {
  const query = collapsed(text.slice(0, 16 * mostBytes));
  let bytes = 0;
  let end = 0;
  for (const character of query) {
    bytes += Buffer.byteLength(character);
    if (bytes > mostBytes) break;
    end += character.length;
  }
  return query.slice(0, end).trim();
}

/** `%s` stands for the query, as in the search pages of browsers; where there is none, it is the parameter `q`. */
export function searchAddress(template: string, query: string, { asJson }: { readonly asJson: boolean }): URL {
  const placed = template.includes('%s');
  const url = new URL(placed ? template.replaceAll('%s', () => encodeURIComponent(query)) : template);
  if (!placed) url.searchParams.set('q', query);
  if (asJson) url.searchParams.set('format', 'json');
  return url;
}
