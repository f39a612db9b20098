import type { EndpointFidelity, FieldFidelity } from '../../core/fidelity.ts';
import { handlings } from './handlings.ts';

const opening = '<!-- fields -->';
const closing = '<!-- /fields -->';

/** One endpoint as a Markdown table under a heading of its own. */
export function fidelityTable({ endpoint, fields }: EndpointFidelity): string {
  return [
    `### \`${endpoint}\``,
    '',
    '| Field | What becomes of it | Note |',
    '|---|---|---|',
    ...fields.map(row),
    '',
  ].join('\n');
}

/** The page with the tables of its endpoints between its two marks; a page without them is a mistake. */
export function fillFields(page: string, endpoints: readonly EndpointFidelity[]): string {
  const start = page.indexOf(opening);
  const end = page.indexOf(closing);
  if (start === -1 || end < start) throw new Error(`The page needs a line ${opening} and a line ${closing} after it.`);
  const meanings = Object.entries(handlings).map(([word, meaning]) => `- **${word}**: ${meaning}`);
  const parts = [...meanings, '', ...endpoints.map(fidelityTable)];
  return `${page.slice(0, start)}${opening}\n\n${parts.join('\n')}\n${page.slice(end)}`;
}

function row({ field, handling, note = '' }: FieldFidelity): string {
  return `| \`${field}\` | ${handling} | ${cell(note)} |`;
}

/** A bar would end the cell. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
