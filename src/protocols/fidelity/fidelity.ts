import type { EndpointFidelity, FieldFidelity, Handling } from '../../core/fidelity.ts';
import { fillPage } from '../../core/fill-page.ts';
import { type Family, json } from '../../http/call.ts';
import { information } from '../access.ts';
import { type EndpointShape, endpointRow, type PlainEndpoint } from '../endpoint.ts';
import { fidelityOf, type Table } from '../fields.ts';

export const fidelityFamily: Family = {
  name: 'fidelity',
  title: 'About the APIs',
  errorReply: ({ message: msg, code: type, status }) => json({ detail: { msg, type } }, status),
};

/** What the four words mean. */
const handlings: Readonly<Record<Handling, string>> = {
  honoured: 'It does what it says.',
  approximated: 'It has its effect, with the difference in its note.',
  ignored:
    'It is accepted without effect. Replies name it in the header x-parley-ignored; the native API, whose clients send such fields always, does not.',
  refused: 'The request is answered with an error that says why.',
};

/** The field tables of all endpoints, as decoders and documentation use them. */
export function fidelityEndpoint(tables: () => Promise<readonly EndpointFidelity[]>): PlainEndpoint {
  const summary = 'Which fields of each API are honoured, approximated, ignored or refused.';
  const get = endpointRow(information, { method: 'GET', match: 'ending', queued: false, family: fidelityFamily });
  return get('/api/extra/fidelity', summary, async () => json({ handling: handlings, endpoints: await tables() }));
}

/** The field tables of endpoints. Those with the same table are listed together: `POST /a, /b`. */
export function fieldTablesOf(dialect: string, endpoints: readonly EndpointShape[]): readonly EndpointFidelity[] {
  const operations = new Map<Table, string>();
  for (const { method, path, fields, aliasOf } of endpoints) {
    if (!fields || aliasOf !== undefined) continue;
    const earlier = operations.get(fields);
    const own = earlier?.startsWith(`${method} `) ? path : `${method} ${path}`;
    operations.set(fields, earlier === undefined ? own : `${earlier}, ${own}`);
  }
  return [...operations].map(([table, heading]) => fidelityOf(dialect, heading, table));
}

/** Replaces everything between the two markers of a documentation page by the tables of its endpoints. */
export function fillFields(page: string, endpoints: readonly EndpointFidelity[]): string {
  const meanings = Object.entries(handlings).map(([word, meaning]) => `- **${word}**: ${meaning}`);
  const parts = [...meanings, '', ...endpoints.map(fidelityTable)];
  return fillPage(page, 'fields', parts.join('\n'));
}

/** One endpoint as a Markdown table below a heading. */
export function fidelityTable({ endpoint, fields }: EndpointFidelity): string {
  const head = [`### \`${endpoint}\``, '', '| Field | What becomes of it | Note |', '|---|---|---|'];
  return [...head, ...fields.map(row), ''].join('\n');
}

function row({ field, handling, note = '' }: FieldFidelity): string {
  return `| \`${field}\` | ${handling} | ${note.replaceAll('|', '\\|').replaceAll('\n', ' ')} |`;
}
