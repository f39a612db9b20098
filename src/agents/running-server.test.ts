import { expect, test } from 'vitest';
import { runningServer } from './running-server.ts';

const url = 'http://127.0.0.1:5001';
const parley = {
  '/api/extra/version': { parley: {}, protected: false },
  '/api/extra/true_max_context_length': { value: 5 },
};

function ask(bodies: Readonly<Record<string, object>>, status = 200) {
  return (async (address: string) => {
    const body = bodies[address.replace(url, '')];
    if (!body) throw new TypeError('fetch failed');
    return new Response(JSON.stringify(body), { status: address.endsWith('/models') ? status : 200 });
  }) as typeof fetch;
}

test('runningServer: models by name and the context', async () => {
  const models = { data: [{ id: 'koboldcpp/a' }, { id: 'b' }] };
  expect(await runningServer(url, undefined, ask({ ...parley, '/v1/models': models }))).toEqual({
    url,
    models: ['a', 'b'],
    contextSize: 5,
    webSearch: false,
  });
});

test('runningServer: undefined for a closed port and for another program', async () => {
  expect(await runningServer(url, undefined, ask({}))).toBeUndefined();
  expect(await runningServer(url, undefined, ask({ '/api/extra/version': { result: 'KoboldCpp' } }))).toBeUndefined();
});

test('runningServer: says that a password is needed, or wrong', async () => {
  const locked = { ...parley, '/api/extra/version': { parley: {}, protected: true }, '/v1/models': {} };
  await expect(runningServer(url, undefined, ask(locked))).rejects.toThrow('has a password: add --password KEY.');
  await expect(runningServer(url, 'x', ask(locked, 401))).rejects.toThrow('refused the password');
});
