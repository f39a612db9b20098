import { expect, test } from 'vitest';
import type { Fetched } from '../http/outgoing.ts';
import { Attachments, mediaInputs, withMedia } from './media.ts';
import { readyState, seeing } from './testing/doubles.ts';

const signal = new AbortController().signal;
const png: Fetched = { type: 'fetched', bytes: Buffer.from([1, 2, 3]), contentType: 'image/png' };

function attachments(addresses = true): Attachments {
  return new Attachments(seeing(), { addresses });
}

const image = (data: string, field = 'x') => ({ kind: 'image', data, field }) as const;

test('what came along and what was fetched keep their order', async () => {
  const all = attachments();
  expect(all.add(image('AAAA'))).toEqual({ type: 'medium', index: 0 });
  expect(all.add(image('https://pictures.example/a.png'))).toEqual({ type: 'medium', index: 1 });
  expect(all.add({ kind: 'audio', data: 'BBBB', field: 'y', format: 'wav' })).toEqual({ type: 'medium', index: 2 });
  expect(await all.all(async () => png, signal)).toEqual([
    { kind: 'image', base64: 'AAAA' },
    { kind: 'image', base64: 'AQID', format: 'image/png' },
    { kind: 'audio', base64: 'BBBB', format: 'wav' },
  ]);
});

test('one address is fetched once', async () => {
  const asked: string[] = [];
  const all = attachments();
  for (const name of ['a', 'b', 'a']) all.add(image(`http://pictures.example/${name}`));
  const media = await all.all(async (url) => {
    asked.push(url);
    return png;
  }, signal);
  expect(asked).toEqual(['http://pictures.example/a', 'http://pictures.example/b']);
  expect(media).toHaveLength(3);
});

test.each<[Fetched, string]>([
  [{ type: 'refused', reason: 'answers with status 404' }, 'answers with status 404'],
  [{ ...png, contentType: 'text/html' }, 'holds text/html'],
  [{ ...png, bytes: Buffer.alloc(0) }, 'is empty'],
])('an address that gives %j is the fault of its field', async (fetched, reason) => {
  const all = attachments();
  all.add(image('http://pictures.example/a', 'messages[0].content[1].image_url.url'));
  await expect(all.all(async () => fetched, signal)).rejects.toMatchObject({
    code: 'invalid-field',
    message: `messages[0].content[1].image_url.url must be an address that can be fetched, and this one ${reason}.`,
  });
});

test('addresses of this machine are refused without being asked', async () => {
  const all = attachments();
  all.add(image('http://127.0.0.1:1/a'));
  await expect(all.all(undefined, signal)).rejects.toThrow('is not on the public internet');
});

test.each(['file:///etc/passwd', 'ftp://pictures.example/a', 'blob:http://localhost/1'])('%s is never read', (data) =>
  expect(() => attachments().add(image(data))).toThrow(
    'x must be a data URL, base64, or an address with http or https.',
  ),
);

test('a dialect without addresses takes none', () => {
  expect(() => attachments(false).add(image('https://pictures.example/a.png'))).toThrow('in base64');
});

test('a kind that the loaded model cannot take is refused with what to do about it', () => {
  const blind = new Attachments(readyState(), { addresses: true });
  for (const data of ['AAAA', 'https://pictures.example/a.png']) {
    expect(() => blind.add(image(data, 'images'))).toThrow(
      'Image input (images) is not possible: the loaded model has no projector for it; start the server with --mmproj FILE.',
    );
  }
  const deaf = new Attachments(seeing({ image: true, audio: false }), { addresses: true });
  expect(() => deaf.add({ kind: 'audio', data: 'AAAA', field: 'x' })).toThrow('Audio input');
  expect(deaf.add(image('AAAA'))).toEqual({ type: 'medium', index: 0 });
});

test('while a model is being loaded nobody knows what it takes', () => {
  expect(mediaInputs({ type: 'loading', name: 'mini', progress: 0 })).toEqual({ image: true, audio: true });
  expect(mediaInputs(readyState())).toEqual({ image: false, audio: false });
});

test('there is a limit to how many, and a smaller one to addresses', () => {
  const many = attachments();
  for (let count = 0; count < 64; count++) many.add(image('AAAA'));
  expect(() => many.add(image('AAAA'))).toThrow('x must be one of at most 64 of its kind.');
  expect(many.add({ kind: 'audio', data: 'AAAA', field: 'x' })).toBeDefined();
  const named = attachments();
  for (let count = 0; count < 16; count++) named.add(image(`http://pictures.example/${count}`));
  expect(() => named.add(image('http://pictures.example/16'))).toThrow('at most 16');
});

test('pictures in the result of a tool are taken in', () => {
  const all = attachments();
  const result = JSON.stringify({ content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] });
  expect(all.toolResult(result, 'x')).toEqual([
    { type: 'text', text: '{"content":[{"type":"text","text":"(the image is attached)"}]}' },
    { type: 'medium', index: 0 },
  ]);
  expect(all.inline()).toEqual([{ kind: 'image', base64: 'AAAA', format: 'image/png' }]);
  const broken = JSON.stringify({ content: [{ type: 'image', data: '!' }] });
  expect(() => all.toolResult(broken, 'messages[2].content')).toThrow(
    'messages[2].content must be a picture in base64.',
  );
});

test('a request without media stays as it is', async () => {
  const request = { conversation: { messages: [], media: [], tools: [] } } as never;
  expect(await withMedia(request, attachments(), { signal })).toBe(request);
});
