import { expect, test } from 'vitest';
import { whole } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import { dialectParts, scriptedText, seeing } from '../testing/doubles.ts';
import { decode } from './decode.ts';

const { text } = scriptedText([], { state: () => seeing() });
const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
const words = (said: string) => ({ type: 'text', text: said });
const shown = (index: number) => ({ type: 'medium', index });

function read(messages: readonly unknown[], more: JsonObject = {}) {
  const { request, attachments } = whole(decode({ messages, max_tokens: 16, ...more }, dialectParts({ text })));
  return { contents: request.conversation.messages.map(({ content }) => content), media: attachments.inline() };
}

test('decode: pictures stay between the texts of a turn, without separators', () => {
  const { contents, media } = read([{ role: 'user', content: [words('a'), words('b'), png, words('c')] }]);
  expect(contents).toEqual([[words('a\nb'), shown(0), words('c')]]);
  expect(media).toEqual([{ kind: 'image', base64: 'AAAA', format: 'image/png' }]);
});

test('decode: attaches pictures of tool results, as blocks or inside of JSON', () => {
  const result = (id: string, content: unknown, more = {}) => ({
    type: 'tool_result',
    tool_use_id: id,
    content,
    ...more,
  });
  const served = JSON.stringify({ content: [{ type: 'image', data: 'BBBB', mimeType: 'image/jpeg' }] });
  const { contents, media } = read([
    { role: 'user', content: [result('a', [words('Seen:'), png]), result('b', served), words('So?')] },
    { role: 'user', content: [result('c', [png], { is_error: true })] },
  ]);
  expect(contents).toEqual([
    [words('Seen:'), shown(0)],
    [words('{"content":[{"type":"text","text":"(the image is attached)"}]}'), shown(1)],
    [words('Error: '), shown(2)],
    [words('So?')],
  ]);
  expect(media.map(({ base64 }) => base64)).toEqual(['AAAA', 'BBBB', 'AAAA']);
});

test('decode: attaches pictures in documents', () => {
  const document = { type: 'document', title: 'T', source: { type: 'content', content: [words('a'), png] } };
  expect(read([{ role: 'user', content: [document, words('b')] }]).contents).toEqual([
    [words('<document>\nTitle: T\na'), shown(0), words('</document>\nb')],
  ]);
});

test('decode: keeps a last assistant turn with a picture', () => {
  const { contents } = read([
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [png] },
  ]);
  expect(contents).toEqual([[words('Hi')], [shown(0)]]);
});

test.each<[object, string]>([
  [{ type: 'base64', data: '?' }, 'messages[0].content[0].source.data must be a picture in base64.'],
  [{ type: 'base64' }, 'messages[0].content[0].source.data must be a string.'],
  [{ type: 'base64', media_type: 'application/pdf', data: 'AAAA' }, 'application/pdf is none.'],
  [{ type: 'url', url: 'file:///etc/passwd' }, 'messages[0].content[0].source.url must be a data URL, base64, or an'],
  [{ type: 'ftp' }, 'messages[0].content[0].source.type must be one of base64, url, file.'],
])('decode: rejects the image source %j', (source, sentence) => {
  expect(() => read([{ role: 'user', content: [{ type: 'image', source }] }])).toThrow(sentence);
});

test('decode: rejects pictures in system', () => {
  const user = { role: 'user', content: 'Hi' };
  expect(() => read([user], { system: [png] })).toThrow('system[0].type must be another one');
  expect(() => read([user, { role: 'system', content: [png] }])).toThrow('messages[1].content[0].type');
});
