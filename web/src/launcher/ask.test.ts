import { afterEach, expect, test, vi } from 'vitest';
import { ask, LauncherError, problemsOf } from './ask.ts';

afterEach(() => vi.unstubAllGlobals());

function answering(status: number, body: string) {
  const asked: { readonly address: string; readonly method: string; readonly body: unknown }[] = [];
  vi.stubGlobal('location', { href: 'http://localhost:4711/' });
  vi.stubGlobal('fetch', async (address: string, { method, body: sent }: { method: string; body?: string }) => {
    asked.push({ address, method, body: sent && JSON.parse(sent) });
    return new Response(body, { status, headers: { 'content-type': 'application/json' } });
  });
  return asked;
}

test('ask: sends GET without a body and POST with one', async () => {
  const asked = answering(200, '{"a":1}');
  expect(await ask('form')).toEqual({ a: 1 });
  await ask('launch', { values: {} });
  expect(asked).toEqual([
    { address: 'http://localhost:4711/launcher/form', method: 'GET', body: undefined },
    { address: 'http://localhost:4711/launcher/launch', method: 'POST', body: { values: {} } },
  ]);
});

test('ask: throws the problems and the body of an error', async () => {
  answering(400, '{"problems":["There already."],"exists":true}');
  const refused = await ask('save', {}).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(LauncherError);
  expect(problemsOf(refused)).toEqual(['There already.']);
  expect((refused as LauncherError).answer).toMatchObject({ exists: true });
});

test('problemsOf: names the status, or says that there is no response', async () => {
  answering(500, '<html>');
  expect(problemsOf(await ask('form').catch((error: unknown) => error))).toEqual([
    'The launcher returned status 500. Try again, or restart it.',
  ]);
  expect(problemsOf(new TypeError('Failed to fetch'))[0]).toContain('not responding');
});
