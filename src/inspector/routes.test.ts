import { expect, test } from 'vitest';
import { asked } from '../protocols/testing/asked.ts';
import { bindAll } from '../protocols/testing/bind.ts';
import { dialectParts } from '../protocols/testing/doubles.ts';
import { redacted } from './redact.ts';
import { inspectorEndpoints } from './routes.ts';
import { RequestStore } from './store.ts';

function world() {
  const store = new RequestStore({ count: 10, now: () => 1_700_000_000_000, tick: () => 0 });
  const access = { enabled: true, password: undefined };
  const parts = { store, access, dialects: async () => [], endpoints: () => [], secrets: ['hush-hush'] };
  const endpoints = bindAll(inspectorEndpoints(parts), dialectParts());
  const watch = (id: string, headers: Record<string, string>, path = '/v1/chat/completions') =>
    store.watch({
      id,
      method: 'POST',
      path,
      family: 'openai',
      endpoint: path,
      remoteAddress: '::1',
      headers,
    });
  return { watch, get: (target: string) => asked(endpoints, 'GET', target) };
}

test('inspector: credentials of one request do not change what is shown of others, nor names of fields', async () => {
  const { watch, get } = world();
  watch('req_1', { 'x-token': 'requests', 'x-api-key': 'completions' });
  const real = watch('req_2', { authorization: 'Bearer sk-marked' });
  real?.authorized?.(undefined, true);
  real?.received?.(Buffer.from('{"text":"requests for completions with sk-marked and hush-hush"}'));
  const { keeps, requests } = (await get('/api/extra/requests')).json;
  expect([keeps, requests.length]).toEqual([10, 2]);
  expect(requests[0]).toMatchObject({ id: 'req_2', path: '/v1/chat/completions' });
  expect(requests[1]).toMatchObject({ id: 'req_1', path: `/v1/chat/${redacted}` });
  const detail = (await get('/api/extra/requests/req_2')).json;
  expect(detail.request.body.text).toBe(`{"text":"requests for completions with ${redacted} and ${redacted}"}`);
});
