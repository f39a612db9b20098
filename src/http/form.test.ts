import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, describe, expect, test } from 'vitest';
import { type Call, json } from './call.ts';
import { type FormLimits, readForm, removeLeftovers, uploadFolder } from './form.ts';
import { ask, endpoint, handTimer, latch, serve, wire } from './testing/world.ts';

const boundary = 'a-boundary';
const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };

/** One part as clients write it. */
const field = (name: string, value: string) =>
  `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = (name: string, fileName: string, content: string, type = 'audio/wav') =>
  `--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="${fileName}"\r\ncontent-type: ${type}\r\n\r\n${content}\r\n`;
const form = (...parts: string[]) => `${parts.join('')}--${boundary}--\r\n`;

/** Shows what came, with the content of the files, and keeps their paths. */
function showing(limits: Partial<FormLimits> = {}) {
  const paths: string[] = [];
  const shown = endpoint(
    (call: Call) => {
      paths.push(...(call.form?.files.map(({ path }) => path) ?? []));
      return json({
        fields: call.form && Object.fromEntries(call.form.fields),
        files: call.form?.files.map(({ path, ...rest }) => ({ ...rest, content: readFileSync(path, 'utf8') })),
        body: call.body.toString(),
      });
    },
    { form: limits },
  );
  return { endpoint: shown, paths };
}

/** The folder is removed shortly after the response. */
const removed = async (path: string): Promise<void> => {
  while (existsSync(path)) await new Promise((resolve) => setImmediate(resolve));
};

describe('readForm', () => {
  test('returns fields in order and files, and removes the files afterwards', async () => {
    const { endpoint: shown, paths } = showing();
    const world = await serve([shown]);
    const body = form(
      field('model', 'whisper'),
      field('tag', 'a'),
      field('tag', 'ü'),
      file('file', 'talk.wav', 'RIFF…'),
    );
    const answer = await ask(world, { method: 'POST', path: '/work', headers, body });
    expect(JSON.parse(answer.text)).toEqual({
      fields: { model: ['whisper'], tag: ['a', 'ü'] },
      files: [{ field: 'file', name: 'talk.wav', contentType: 'audio/wav', bytes: 7, content: 'RIFF…' }],
      body: '',
    });
    expect(paths).toHaveLength(1);
    await removed(dirname(paths[0] as string));
  });

  test.each([
    ['../../etc/passwd', 'passwd'],
    ['C:\\\\Users\\\\x\\\\talk.wav', 'talk.wav'],
    ['grüße.wav', 'grüße.wav'],
  ])('replaces the file name %s by a safe one', async (sent, expected) => {
    const { endpoint: shown } = showing();
    const world = await serve([shown]);
    const answer = await ask(world, { method: 'POST', path: '/work', headers, body: form(file('file', sent, 'x')) });
    expect(JSON.parse(answer.text).files[0].name).toBe(expected);
  });

  test('a part without a name: has an empty one', async () => {
    const { endpoint: shown } = showing();
    const body = form(field('', 'x'), file('', 'a.wav', 'y'));
    const { status, text } = await ask(await serve([shown]), { method: 'POST', path: '/work', headers, body });
    expect([status, JSON.parse(text)]).toMatchObject([200, { files: [{ field: '', name: 'a.wav', content: 'y' }] }]);
  });

  test('an endpoint with a form still accepts other content types', async () => {
    const { endpoint: shown } = showing();
    const world = await serve([shown]);
    const answer = await ask(world, { method: 'POST', path: '/work', body: '{"a":1}' });
    expect(JSON.parse(answer.text)).toEqual({ body: '{"a":1}' });
  });

  test('an endpoint without a form gets the raw body', async () => {
    const world = await serve([
      endpoint((call) => json({ body: call.body.toString(), form: call.form !== undefined })),
    ]);
    const answer = await ask(world, { method: 'POST', path: '/work', headers, body: form(field('a', 'b')) });
    expect(JSON.parse(answer.text)).toEqual({ body: form(field('a', 'b')), form: false });
  });

  test('reads a file of several megabytes', async () => {
    const { endpoint: shown } = showing();
    const world = await serve([shown]);
    const content = 'abcdefgh'.repeat(500_000);
    const answer = await ask(world, { method: 'POST', path: '/work', headers, body: form(file('file', 'f', content)) });
    const [only] = JSON.parse(answer.text).files;
    expect(only.bytes).toBe(4_000_000);
    expect(only.content === content).toBe(true);
  });

  test('files exist until the stream has ended', async () => {
    const go = latch();
    let path = '';
    const streaming = endpoint(
      (call) => {
        path = call.form?.files[0]?.path ?? '';
        async function* stream() {
          yield 'first ';
          await go.promise;
          yield readFileSync(path, 'utf8');
        }
        return { status: 200, stream: stream() };
      },
      { form: {} },
    );
    const world = await serve([streaming]);
    const answer = ask(world, { method: 'POST', path: '/work', headers, body: form(file('file', 'f', 'content')) });
    while (path === '') await new Promise((resolve) => setImmediate(resolve));
    expect(existsSync(path)).toBe(true);
    go.open();
    expect((await answer).text).toBe('first content');
    await removed(dirname(path));
  });
});

describe('readForm: invalid form', () => {
  const uploads = () => readdirSync(tmpdir()).filter((name) => name.startsWith(`parley-upload-${process.pid}-`));
  const refused = async (body: string | Buffer, limits: Partial<FormLimits> = {}, megabytes = 32) => {
    const { endpoint: shown } = showing(limits);
    const world = await serve([shown], { maxRequestMegabytes: megabytes });
    const answer = await ask(world, { method: 'POST', path: '/work', headers, body });
    expect(uploads()).toEqual([]);
    expect(world.errors).toEqual([]);
    return { status: answer.status, ...(JSON.parse(answer.text) as { family: string; sentence: string }) };
  };

  test('rejects too many files', async () => {
    const body = form(file('a', 'a', 'x'), file('b', 'b', 'x'));
    expect(await refused(body, { files: 1 })).toMatchObject({ status: 400, sentence: /more than 1 files/ as never });
  });

  test('rejects too many fields', async () => {
    expect((await refused(form(field('a', '1'), field('b', '2')), { fields: 1 })).sentence).toContain(
      'more than 1 fields',
    );
  });

  test('rejects a field that is too long', async () => {
    const answer = await refused(form(field('prompt', 'x'.repeat(100))), { fieldBytes: 10 });
    expect(answer.sentence).toContain('prompt is longer than 10 bytes');
  });

  test('rejects a truncated form', async () => {
    const answer = await refused(file('file', 'f', 'content').slice(0, -4));
    expect(answer).toMatchObject({ status: 400, family: 'request-broken' });
  });

  test('rejects a body above the limit, with and without Content-Length', async () => {
    const answer = await refused(form(file('file', 'f', 'x'.repeat(2 * 2 ** 20))), {}, 1);
    expect(answer).toMatchObject({ status: 413, family: 'payload-too-large' });
  });

  test.each(['ENOSPC', 'EDQUOT'])('readForm: answers 507 when the disk is full (%s)', async (code) => {
    const { endpoint: shown } = showing();
    const world = await serve([shown], {
      openUpload: () =>
        new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error('no space'), { code })) }),
    });
    const body = form(file('file', 'f', 'x'.repeat(300_000)));
    const { status, text } = await ask(world, { method: 'POST', path: '/work', headers, body });
    expect([status, JSON.parse(text)]).toEqual([
      507,
      { family: 'disk-full', sentence: expect.stringContaining('disk of the server is full') },
    ]);
    expect(uploads()).toEqual([]);
  });

  test('rejects a form without a boundary', async () => {
    const { endpoint: shown } = showing();
    const world = await serve([shown]);
    const answer = await ask(world, {
      method: 'POST',
      path: '/work',
      headers: { 'content-type': 'multipart/form-data' },
      body: 'x',
    });
    expect(answer.status).toBe(400);
    expect(uploads()).toEqual([]);
  });

  test('removes the files when the client disconnects', async () => {
    const { endpoint: shown } = showing();
    const world = await serve([shown]);
    const client = wire(world);
    client.send(
      `POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${headers['content-type']}\r\ncontent-length: 100000\r\n\r\n${file('file', 'f', 'content')}`,
    );
    while (uploads().length === 0) await new Promise((resolve) => setImmediate(resolve));
    client.socket.destroy();
    while (uploads().length > 0) await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('removeLeftovers', () => {
  const parent = mkdtempSync(join(tmpdir(), 'parley-leftovers-'));
  afterAll(() => rmSync(parent, { recursive: true }));

  test('removes folders of dead processes, and leaves those of running ones and other files', async () => {
    const mine = await uploadFolder(parent, 11);
    const dead = await uploadFolder(parent, 12);
    const other = mkdtempSync(join(parent, 'other-12-'));
    await removeLeftovers(parent, (pid) => pid === 11);
    expect([mine, dead, other].map((path) => existsSync(path))).toEqual([true, false, true]);
  });

  test('ignores a folder that cannot be read', async () => {
    await expect(removeLeftovers(join(parent, 'nowhere'))).resolves.toBeUndefined();
  });
});

test('form: one that came whole is given up at once if its client left before it was read', async () => {
  const body = form(file('file', 'talk.wav', 'RIFF'));
  const result = latch<string>();
  const folder = join(tmpdir(), 'parley-test-form-never-made');
  const server = createServer((request) => {
    const leave = async (): Promise<string> => {
      const closed = new Promise((resolve) => request.on('error', () => undefined).on('close', resolve));
      client.destroy();
      await closed;
      expect([request.complete, request.readableEnded]).toEqual([true, false]);
      return folder;
    };
    // Its timer never passes.
    const startTimer = handTimer().startTimer;
    readForm(request, { bytes: 1000, stallMilliseconds: 1000, startTimer, limits: {}, folder: leave }).then(
      ({ type }) => result.open(type),
      (error) => result.open(String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const head = `POST / HTTP/1.1\r\nhost: a\r\ncontent-type: ${headers['content-type']}\r\ncontent-length: ${body.length}\r\n\r\n`;
  client.write(head + body);
  expect(await result.promise).toBe('disconnected');
  server.close();
});

test('form: parts after its end are ignored, and the request is answered', async () => {
  const { endpoint: shown } = showing();
  const place = await serve([shown]);
  const body = `${form(field('a', '1'))}${file('f', 'f.wav', 'bytes')}`;
  const { status, text } = await ask(place, { method: 'POST', path: '/work', headers, body });
  expect(status).toBe(200);
  expect(JSON.parse(text)).toMatchObject({ fields: { a: ['1'] }, files: [] });
});
