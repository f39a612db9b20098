import { describe, expect, test } from 'vitest';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { EndpointShape } from '../endpoint.ts';
import * as f from '../fields.ts';
import { callOf } from '../testing/doubles.ts';
import { fidelityDialect, fidelityEndpoint, fieldTables } from './fidelity.ts';

const endpoint: EndpointFidelity = {
  dialect: 'Some API',
  endpoint: 'POST /some',
  fields: [
    { field: 'a', handling: 'honoured' },
    { field: 'b', handling: 'approximated', note: 'x | y' },
  ],
};

const row = (path: string, own: Partial<EndpointShape>): EndpointShape => {
  const dialect = { ...fidelityDialect, title: 'Some API' };
  return { method: 'POST', match: 'exact', path, access: 'open', queued: false, summary: '', dialect, ...own };
};

describe('fieldTables', () => {
  const [a, b] = [{ a: f.ignored() }, { b: f.ignored() }];
  const headings = (...endpoints: readonly EndpointShape[]) =>
    fieldTables(endpoints).map(({ endpoint: heading, fields }) => [heading, ...fields.map(({ field }) => field)]);

  test('lists endpoints with the same table together, the method once', () => {
    const get = row('/c', { method: 'GET', fields: a });
    expect(headings(row('/a', { fields: a }), row('/b', { fields: a }), get, row('/d', { fields: b }))).toEqual([
      ['POST /a, /b, GET /c', 'a'],
      ['POST /d', 'b'],
    ]);
  });

  test('leaves out aliases and endpoints without a table', () => {
    expect(headings(row('/a', {}), row('/b', { fields: a, aliasOf: '/a' }))).toEqual([]);
  });

  test('has the tables of paths below a prefix, and those of the events of a WebSocket', () => {
    const below = { '{id}': { fields: a }, '{id}/stop': {} };
    expect(headings(row('/s/', { match: 'prefix', below }), row('/ws', { events: { 'some.event': b } }))).toEqual([
      ['POST /s/{id}', 'a'],
      ['some.event', 'b'],
    ]);
  });
});

test('fidelityEndpoint: returns the tables', async () => {
  const fields = { a: f.honoured(f.anyValue), b: f.approximated(f.anyValue, 'x | y') };
  const { handle } = fidelityEndpoint(() => [row('/some', { fields })]);
  const reply = await handle(callOf('/api/extra/fidelity', ''), undefined);
  expect('body' in reply && JSON.parse(String(reply.body))).toEqual({
    handling: expect.objectContaining({ honoured: 'It does what it says.' }),
    endpoints: [endpoint],
  });
});
