import { describe, expect, test } from 'vitest';
import { webOf } from './web.ts';

const url = 'http://draw.invalid';
const answering = (reply: Response | Error, seen: RequestInit[] = []) =>
  webOf({ url, key: 'secret' }, async (_, init) => {
    seen.push(init ?? {});
    if (reply instanceof Error) throw reply;
    return reply.clone();
  });
const said = (status: number, body: unknown) => new Response(JSON.stringify(body), { status });

describe('another server', () => {
  test('is shown the key each time', async () => {
    const seen: RequestInit[] = [];
    const web = answering(said(200, [1]), seen);
    expect([await web.get('/a'), await web.find('/b'), await web.post('/c', { x: 1 })]).toEqual([[1], [1], [1]]);
    expect(seen.map(({ headers }) => (headers as Record<string, string>).authorization)).toEqual(
      Array(3).fill('Bearer secret'),
    );
    expect(seen[2]).toMatchObject({ method: 'POST', body: '{"x":1}' });
  });

  test('that cannot be reached is told as away, with the reason of the system', async () => {
    const refused = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) });
    const web = answering(refused);
    for (const asking of [web.get('/a'), web.find('/a'), web.post('/a', {})]) {
      await expect(asking).rejects.toMatchObject({ code: 'engine-down', status: 503 });
    }
    await expect(web.get('/a')).rejects.toThrow(`${url} (--sdremote) could not be reached (ECONNREFUSED)`);
  });

  test.each([
    [{ detail: { msg: 'No image model loaded.' } }, 'answered with 500: No image model loaded.'],
    [{ detail: 'Not Found' }, 'answered with 500: Not Found.'],
    [{ error: 'RuntimeError', detail: '', errors: 'model missing' }, 'answered with 500: model missing.'],
    [{ error: { message: 'Prompt has no outputs' } }, 'answered with 500: Prompt has no outputs.'],
    [{ error: 'odd' }, 'answered with 500: odd.'],
    [{}, 'answered with 500.'],
    ['text', 'answered with 500.'],
  ])('that refuses is quoted: %j', async (body, sentence) => {
    await expect(answering(said(500, body)).post('/a', {})).rejects.toThrow(sentence);
  });

  test('that wants another key says so, also where it is only looked at', async () => {
    for (const status of [401, 403]) {
      await expect(answering(said(status, {})).find('/a')).rejects.toThrow('wants another key');
      await expect(answering(said(status, {})).get('/a')).rejects.toThrow('key=env:NAME');
    }
  });

  test('that does not have a list has nothing there; what is no JSON is a failure where it was needed', async () => {
    expect(await answering(said(404, {})).find('/a')).toBeUndefined();
    expect(await answering(new Response('<html>')).find('/a')).toBeUndefined();
    await expect(answering(new Response('<html>')).get('/a')).rejects.toThrow('no JSON');
  });

  test('gives bytes, and takes forms', async () => {
    const web = answering(new Response(Uint8Array.of(1, 2)));
    expect(await web.bytes('/view', new AbortController().signal)).toEqual(Uint8Array.of(1, 2));
    const seen: RequestInit[] = [];
    await answering(said(200, {}), seen).upload('/up', new FormData(), new AbortController().signal);
    expect(seen[0]?.body).toBeInstanceOf(FormData);
  });

  test('is left with the reason of whoever stopped it', async () => {
    const stop = AbortSignal.abort(new Error('enough'));
    await expect(answering(new Error('aborted')).get('/a', stop)).rejects.toThrow('enough');
  });
});
