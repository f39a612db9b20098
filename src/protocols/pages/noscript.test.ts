import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { router } from '../../http/router.ts';
import { bindAll } from '../testing/bind.ts';
import { callOf, dialectParts, finishEvent, type Script, scriptedText, startEvent } from '../testing/doubles.ts';
import { afterReply, type NoscriptForm, noscriptEndpoints, promptOf, readForm } from './noscript.ts';

const fresh = readForm(new URLSearchParams());

function world(script: Script = [startEvent(), { type: 'text-delta', text: 'Hi <b>!' }, finishEvent()], own = {}) {
  const { text, asked } = scriptedText(script, own);
  const find = router(
    bindAll(noscriptEndpoints(dialectParts()), { ...dialectParts({ text }), replacePlaceholders: (texts) => texts }),
  );
  return {
    asked,
    endpoint: (method: string) => {
      const found = find.find(method, '/noscript');
      if (!found) throw new Error(`no ${method}`);
      return found;
    },
    async send(fields: Record<string, string> | URLSearchParams) {
      const reply = await this.endpoint('POST').handle(callOf('/noscript', new URLSearchParams(fields).toString()));
      let body = 'body' in reply ? String(reply.body) : '';
      if ('stream' in reply) for await (const piece of reply.stream) body += String(piece);
      return { ...reply, body };
    },
  };
}

describe('GET /noscript', () => {
  test('is a page without scripts whose form goes only to this server', async () => {
    const endpoint = world().endpoint('GET');
    const reply = await endpoint.handle(callOf('/noscript', ''));
    const { headers = {}, body = '' } = reply as { headers?: Record<string, string>; body?: string };
    expect(headers['content-security-policy']).toContain("form-action 'self'");
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(body).toContain('<form method="post" action="noscript"');
    expect(body).not.toMatch(/<script|style=| on\w+=/);
    for (const label of ['Text', 'Maximum length in tokens', 'Temperature', 'Top P']) expect(body).toContain(label);
  });

  test('readForm: has defaults for missing and wrong values, and limits the others', () => {
    expect(fresh).toEqual({ kind: 'question', text: '', turns: [], maxLength: 200, temperature: 0.7, topP: 0.9 });
    const read = (fields: Record<string, string>) => readForm(new URLSearchParams(fields));
    expect(read({ max_length: '9999999', temperature: '-3', top_p: '7', kind: 'story' })).toMatchObject({
      kind: 'story',
      maxLength: 4096,
      temperature: 0,
      topP: 1,
    });
    expect(read({ max_length: 'many', temperature: '', kind: 'x' })).toEqual(fresh);
    expect(read({ text: 'a\r\nb' }).text).toBe('a\nb');
  });

  test('readForm: drops incomplete turns', () => {
    const turns = (...sent: string[]) =>
      readForm(new URLSearchParams(sent.map((turn): [string, string] => ['turn', turn]))).turns;
    expect(turns('q', 'a')).toEqual(['q', 'a']);
    expect(turns('x', 'q', 'a')).toEqual(['q', 'a']);
    expect(turns(...Array.from({ length: 301 }, () => 't'))).toHaveLength(200);
  });

  test('readForm: reads anything', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('text', 'turn', 'max_length', 'temperature', 'top_p', 'kind'), fc.string())),
        (pairs) => {
          const read = readForm(new URLSearchParams(pairs));
          expect(Number.isInteger(read.maxLength) && read.maxLength >= 1).toBe(true);
          expect(read.temperature).toBeGreaterThanOrEqual(0);
          expect(read.turns.length % 2).toBe(0);
        },
      ),
    );
  });
});

describe('noscript prompts', () => {
  const asked: NoscriptForm = { ...fresh, text: 'And now?' };

  test('story: the text is the prompt, and the reply is appended to it', () => {
    const story: NoscriptForm = { ...asked, kind: 'story', text: 'Once' };
    expect(promptOf(story)).toBe('Once');
    expect(afterReply(story, ' upon')).toEqual({ ...story, text: 'Once upon' });
  });

  test('question: has the earlier turns, and the answer becomes one', () => {
    expect(promptOf({ ...asked, turns: ['q', 'a'] })).toBe('{{[INPUT]}}q{{[OUTPUT]}}a{{[INPUT]}}And now?{{[OUTPUT]}}');
    expect(afterReply(asked, ' Now. ')).toMatchObject({ text: '', turns: ['And now?', 'Now.'] });
  });
});

describe('POST /noscript', () => {
  test('streams an escaped answer and a form for the next question', async () => {
    const one = world();
    expect(one.endpoint('POST')).toMatchObject({ rateLimited: true });
    const { status, headers, body } = await one.send({ text: 'Hello "you"' });
    expect(status).toBe(200);
    expect(headers?.['content-security-policy']).toContain("form-action 'self'");
    expect(body).toContain('Hi &#60;b&#62;!');
    expect(body).not.toContain('<b>');
    expect(body).toContain('<input type="hidden" name="turn" value="Hello &#34;you&#34;">');
    expect(body.trimEnd()).toMatch(/<\/html>$/);
  });

  test('generates with the settings of the form', async () => {
    const one = world();
    await one.send({ text: 'Hello', max_length: '33', temperature: '0.25', top_p: '0.5' });
    const { request } = one.asked[0] ?? {};
    expect(request).toMatchObject({
      maxTokens: 33,
      prompt: '{{[INPUT]}}Hello{{[OUTPUT]}}',
      stop: ['{{[INPUT]}}', '{{[OUTPUT]}}'],
      sampling: { temperature: 0.25, topP: 0.5 },
    });
    await one.send({ text: 'Once', kind: 'story' });
    expect(one.asked[1]?.request).toMatchObject({ prompt: 'Once', stop: [] });
  });

  test('appends the reply to a story', async () => {
    const { body } = await world([
      startEvent(),
      { type: 'text-delta', text: ' upon' },
      finishEvent({ reason: 'length' }),
    ]).send({
      text: 'Once',
      kind: 'story',
    });
    expect(body).toContain('Once upon</textarea>');
    expect(body).toContain('The reply reached the maximum length.');
  });

  test('error: shows the text so far and the reason', async () => {
    const lost = new AppError('engine-lost', {} as never);
    for (const script of [
      [startEvent(), { type: 'text-delta', text: 'Half' }, { type: 'error', error: lost }],
      async function* () {
        yield startEvent();
        yield { type: 'text-delta', text: 'Half' };
        throw lost;
      },
    ] as Script[]) {
      const { body } = await world(script).send({ text: 'x' });
      expect(body).toContain('Half');
      expect(body).toContain('The reply stopped early');
      expect(body.trimEnd()).toMatch(/<\/html>$/);
    }
  });

  test('without a model: is an error page', async () => {
    const one = world([], { state: () => ({ type: 'none' }) });
    await expect(one.send({ text: 'x' })).rejects.toThrow(AppError);
  });

  test('without the key: sends a Basic challenge', () => {
    const { errorReply } = world().endpoint('POST').dialect;
    expect(errorReply(new AppError('unauthorized', {})).headers?.['www-authenticate']).toMatch(/^Basic /);
    expect(errorReply(new AppError('busy', { retryAfterSeconds: 1 })).headers).not.toHaveProperty('www-authenticate');
  });
});
