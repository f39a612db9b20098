import { expect, test } from 'vitest';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import { callOf } from '../testing/doubles.ts';
import { fidelityEndpoint, fidelityTable, fillFields } from './fidelity.ts';

const endpoint: EndpointFidelity = {
  dialect: 'Some API',
  endpoint: 'POST /some',
  fields: [
    { field: 'a', handling: 'honoured' },
    { field: 'b', handling: 'approximated', note: 'x | y' },
  ],
};

test('fidelityTable: is a Markdown table', () => {
  expect(fidelityTable(endpoint)).toBe(
    [
      '### `POST /some`',
      '',
      '| Field | What becomes of it | Note |',
      '|---|---|---|',
      '| `a` | honoured |  |',
      '| `b` | approximated | x \\| y |',
      '',
    ].join('\n'),
  );
});

test('fillFields: replaces everything between the markers, and is idempotent', () => {
  const page = 'Before\n\n<!-- fields -->\nold\n<!-- /fields -->\n\nAfter\n';
  const filled = fillFields(page, [endpoint, endpoint]);
  expect(filled).toMatch(/^Before\n\n<!-- fields -->\n\n- \*\*honoured\*\*: /);
  expect(filled.match(/### `POST \/some`/g)).toHaveLength(2);
  expect(filled).toMatch(/\|\n\n<!-- \/fields -->\n\nAfter\n$/);
  expect(filled).not.toContain('old');
  expect(fillFields(filled, [endpoint, endpoint])).toBe(filled);
});

test('fillFields: throws without markers', () => {
  expect(() => fillFields('<!-- /fields --> <!-- fields -->', [])).toThrow('needs a line');
});

test('fidelityEndpoint: returns the tables', async () => {
  const { handle } = fidelityEndpoint(async () => [endpoint]);
  const reply = await handle(callOf('/api/extra/fidelity', ''), undefined);
  expect('body' in reply && JSON.parse(String(reply.body))).toEqual({
    handling: expect.objectContaining({ honoured: 'It does what it says.' }),
    endpoints: [endpoint],
  });
});
