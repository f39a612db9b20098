import { expect, test } from 'vitest';
import type { Message } from '../../../chat/messages.ts';
import { AppError } from '../../../core/errors.ts';
import type { Medium } from '../../../core/request.ts';
import { whole } from '../../../core/slices.ts';
import type { Attachments } from '../../media.ts';
import { blind, sighted } from '../../testing/attachments.ts';
import { decodeMessages as decode, hasSpeakerNames, readMessages } from './messages.ts';

const decodeMessages = (messages: unknown, attachments: Attachments) =>
  whole(decode(readMessages(messages, 'messages'), attachments));
const said = (text: string) => [{ type: 'text', text }] as const;
const call = { id: 'call_1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } };
const user = { role: 'user', content: 'Hi' };

test.each<[string, unknown, Message]>([
  [
    'developer becomes system',
    { role: 'developer', content: 'Be brief.' },
    { role: 'system', content: said('Be brief.') },
  ],
  ['user message', user, { role: 'user', content: said('Hi') }],
  [
    'text parts are concatenated',
    { role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b', cache_control: {} }, 'c'] },
    { role: 'user', content: [...said('a'), ...said('b'), ...said('c')] },
  ],
  [
    'a text file becomes its text',
    {
      role: 'user',
      content: [
        { type: 'file', file: { filename: 'a.txt', file_data: 'data:text/plain;charset=utf-8;base64,SGVsbG8=' } },
      ],
    },
    { role: 'user', content: said('Hello') },
  ],
  [
    'reasoning_content is separate',
    { role: 'assistant', content: '4', reasoning_content: '2+2' },
    { role: 'assistant', content: said('4'), reasoning: '2+2' },
  ],
  [
    'reasoning is another name of reasoning_content',
    { role: 'assistant', content: '4', reasoning: '2+2' },
    { role: 'assistant', content: said('4'), reasoning: '2+2' },
  ],
  [
    'calls without content',
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'assistant', content: [], toolCalls: [{ id: 'call_1', name: 'add', json: '{"a":1}' }] },
  ],
  [
    'arguments as an object',
    { role: 'assistant', tool_calls: [{ id: 'x', function: { name: 'add', arguments: { a: 1 } } }] },
    { role: 'assistant', content: [], toolCalls: [{ id: 'x', name: 'add', json: '{"a":1}' }] },
  ],
  [
    'a custom tool call has its text as input',
    { role: 'assistant', tool_calls: [{ id: 'x', type: 'custom', custom: { name: 'run', input: 'ls' } }] },
    { role: 'assistant', content: [], toolCalls: [{ id: 'x', name: 'run', json: '{"input":"ls"}' }] },
  ],
  [
    'legacy function_call',
    { role: 'assistant', content: null, function_call: { name: 'add', arguments: '' } },
    { role: 'assistant', content: [], toolCalls: [{ id: '', name: 'add', json: '{}' }] },
  ],
  [
    'a refusal becomes the content',
    { role: 'assistant', content: null, refusal: 'No.' },
    { role: 'assistant', content: said('No.') },
  ],
  [
    'legacy function result',
    { role: 'function', name: 'add', content: '3' },
    { role: 'tool', content: said('3'), toolName: 'add' },
  ],
  ['a custom role', { role: 'ipython', content: 'x' }, { role: 'other', roleName: 'ipython', content: said('x') }],
])('%s', (_, message, expected) => {
  expect(decodeMessages([message], blind())).toEqual([expected]);
});

test('decodeMessages: a result has the tool name of the newest call with its id', () => {
  const again = { ...call, function: { name: 'subtract', arguments: '{}' } };
  const messages = decodeMessages(
    [
      { role: 'assistant', tool_calls: [call] },
      { role: 'assistant', tool_calls: [again] },
      { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: '3' }] },
    ],
    blind(),
  );
  expect(messages[2]).toEqual({ role: 'tool', content: said('3'), callId: 'call_1', toolName: 'subtract' });
});

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };

test.each<[string, unknown, string]>([
  ['no messages', undefined, 'messages must be an array that is not empty.'],
  ['null', null, 'messages must be an array that is not empty.'],
  ['a text', 'Hi', 'messages must be an array that is not empty.'],
  ['an empty list', [], 'messages must be an array that is not empty.'],
  ['a number in the list', [123], 'messages[0] must be an object with role and content.'],
  ['an empty message', [{}], 'messages[0].role must be a string that is not empty.'],
  ['a role that is a number', [{ role: 1, content: '' }], 'messages[0].role must be a string.'],
  [
    'content that is a number',
    [{ role: 'user', content: 1 }],
    'messages[0].content must be a string or an array of content parts.',
  ],
  ['no content', [{ role: 'user' }], 'messages[0].content must be a string or an array of content parts.'],
  [
    'an assistant message without content',
    [user, { role: 'assistant', content: null }],
    'messages[1].content must be given where there are no tool_calls.',
  ],
  [
    'a call without a name',
    [{ role: 'assistant', tool_calls: [{ id: 'x', function: {} }] }],
    'messages[0].tool_calls[0].function.name must be a string that is not empty.',
  ],
  [
    'a part without a type',
    [{ role: 'user', content: [{ text: 'x' }] }],
    'messages[0].content[0].type must be a string that is not empty.',
  ],
  ['a picture', [{ role: 'user', content: [image] }], '--mmproj'],
  ['audio', [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA' } }] }], '--mmproj'],
  [
    'a video',
    [{ role: 'user', content: [{ type: 'video_url', video_url: {} }] }],
    'messages[0].content[0].type is not possible',
  ],
  [
    'a file that is not text',
    [{ role: 'user', content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE' } }] }],
    'messages[0].content[0].file is not possible',
  ],
  [
    'a picture in the result of a tool',
    [{ role: 'tool', content: JSON.stringify({ content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] }) }],
    '--mmproj',
  ],
])('decodeMessages: rejects %s', (_, messages, sentence) => {
  expect(() => decodeMessages(messages, blind())).toThrow(AppError);
  expect(() => decodeMessages(messages, blind())).toThrow(sentence);
});

const shown = { type: 'medium', index: 0 } as const;
const content = (part: unknown) => [{ role: 'user', content: ['See ', part, '!'] }];
const picture = { kind: 'image', base64: 'AAAA' } as const;

test.each<[string, unknown, Medium]>([
  ['a picture as a data URL', image, { ...picture, format: 'image/png' }],
  ['image_url as a string', { type: 'image_url', image_url: 'AAAA' }, picture],
  ['bare base64', { type: 'image_url', image_url: { url: 'AAAA', detail: 'low' } }, picture],
  ['an image part', { type: 'image', data: 'AAAA' }, picture],
  [
    'audio',
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    { kind: 'audio', base64: 'AAAA', format: 'wav' },
  ],
  [
    'a file that is a picture',
    { type: 'file', file: { filename: 'a.png', file_data: 'data:image/png;base64,AAAA' } },
    { ...picture, format: 'image/png' },
  ],
])('decodeMessages: attaches %s in place', (_, part, medium) => {
  const attachments = sighted();
  const [message] = decodeMessages(content(part), attachments);
  expect(message?.content).toEqual([...said('See '), shown, ...said('!')]);
  expect(attachments.inline()).toEqual([medium]);
});

test('decodeMessages: attaches pictures of tool results', () => {
  const attachments = sighted();
  const results = [JSON.stringify({ content: [{ type: 'image', data: 'AAAA' }] }), [image]];
  const messages = decodeMessages(
    results.map((result) => ({ role: 'tool', tool_call_id: 'a', content: result })),
    attachments,
  );
  const note = said('{"content":[{"type":"text","text":"(the image is attached)"}]}');
  expect(messages.map((message) => message.content)).toEqual([[...note, shown], [{ type: 'medium', index: 1 }]]);
});

test.each<[unknown, string]>([
  [{ type: 'image_url' }, 'image_url.url must be a string that is not empty.'],
  [{ type: 'image_url', image_url: 7 }, 'image_url must be an object.'],
  [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }, 'image_url.url must be a data URL, base64, or'],
  [{ type: 'image_url', image_url: { url: 'data:image/png;base64,?' } }, 'image_url.url must be a picture in base64.'],
  [{ type: 'input_audio', input_audio: {} }, 'input_audio.data must be a string that is not empty.'],
])('decodeMessages: rejects %j with its path', (part, sentence) => {
  expect(() => decodeMessages(content(part), sighted())).toThrow(`messages[0].content[1].${sentence}`);
});

test('hasSpeakerNames: true for names of speakers, not of tools', () => {
  expect(hasSpeakerNames([{ ...user, name: 'Ann' }])).toBe(true);
  expect(hasSpeakerNames([user, { role: 'tool', name: 'add', content: '' }])).toBe(false);
});
