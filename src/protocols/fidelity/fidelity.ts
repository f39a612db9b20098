import type { EndpointFidelity, Handling } from '../../core/fidelity.ts';
import { json } from '../../http/call.ts';
import { information } from '../access.ts';
import {
  type DocumentedDialect,
  documentedPaths,
  type EndpointShape,
  endpointRow,
  type PlainEndpoint,
} from '../endpoint.ts';
import { fidelityOf, type Table } from '../fields.ts';

export const fidelityDialect: DocumentedDialect = {
  name: 'fidelity',
  title: 'About the APIs',
  responses: () => import('./responses.ts'),
  errorReply: ({ message: msg, code: type, status }) => json({ detail: { msg, type } }, status),
};

/** What the four words mean. */
export const handlings: Readonly<Record<Handling, string>> = {
  honoured: 'It does what it says.',
  approximated: 'It has its effect, with the difference in its note.',
  ignored:
    'It is accepted without effect. Replies name it in the header x-parley-ignored; the native API, whose clients send such fields always, does not.',
  refused: 'The request is answered with an error that says why.',
};

/** The field tables of all endpoints, as decoders and documentation use them. */
export function fidelityEndpoint(endpoints: () => readonly EndpointShape[]): PlainEndpoint {
  const summary = 'Which fields of each API are honoured, approximated, ignored or refused.';
  const get = endpointRow(information, { method: 'GET', dialect: fidelityDialect });
  return get('/api/extra/fidelity', summary, () => json({ handling: handlings, endpoints: fieldTables(endpoints()) }), {
    response: 'fidelity',
  });
}

/** The field tables of endpoints. Those with the same table are listed together: `POST /a, /b`. */
export function fieldTables(endpoints: readonly EndpointShape[]): readonly EndpointFidelity[] {
  const byTable = new Map<Table, { readonly dialect: string; readonly operations: string[] }>();
  for (const endpoint of endpoints) {
    if (endpoint.aliasOf !== undefined) continue;
    const { method, dialect, events = {} } = endpoint;
    const paths = documentedPaths(endpoint).map(({ path, fields }) => [`${method} ${path}`, fields] as const);
    for (const [operation, table] of [...paths, ...Object.entries(events)]) {
      if (!table) continue;
      const earlier = byTable.get(table);
      if (earlier) earlier.operations.push(operation.replace(`${earlier.operations[0]?.split(' ')[0]} `, ''));
      else byTable.set(table, { dialect: dialect.title, operations: [operation] });
    }
  }
  return [...byTable].map(([table, { dialect, operations }]) => ({
    dialect,
    endpoint: operations.join(', '),
    fields: fidelityOf(table),
  }));
}
