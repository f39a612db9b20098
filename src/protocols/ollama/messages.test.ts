import { expect, test } from 'vitest';
import { text } from '../../chat/messages.ts';
import { whole } from '../../core/slices.ts';
import { blind, sighted } from '../testing/attachments.ts';
import { decodeMessages as decode, decodeTools } from './decode.ts';

const decodeMessages = (messages: unknown, attachments = blind()) => whole(decode(messages, attachments));

test('decodeMessages: roles in any case, and missing content is empty', () => {
  expect(
    decodeMessages([
      { role: 'System', content: 'Be kind.' },
      { role: 'USER', content: null },
      { role: 'developer', content: 'x' },
    ]),
  ).toEqual([
    { role: 'system', content: text('Be kind.') },
    { role: 'user', content: [] },
    { role: 'other', roleName: 'developer', content: text('x') },
  ]);
});

test('decodeMessages: keeps thinking and calls of the assistant', () => {
  const calls = [{ id: 'a', function: { name: 'f', arguments: { city: 'Paris' } } }];
  expect(decodeMessages([{ role: 'assistant', content: '', thinking: 'hm', tool_calls: calls }])).toEqual([
    { role: 'assistant', content: [], reasoning: 'hm', toolCalls: [{ id: 'a', name: 'f', json: '{"city":"Paris"}' }] },
  ]);
});

test('decodeMessages: results without an id belong to the open call of their name, or the next one', () => {
  const calls = [
    { function: { name: 'f', arguments: '{"a":1}' } },
    { function: { name: 'g' } },
    { function: { name: 'h', arguments: '' } },
  ];
  const found = decodeMessages([
    { role: 'user', content: 'go' },
    { role: 'assistant', tool_calls: calls },
    { role: 'tool', content: 'G', tool_name: 'g' },
    { role: 'tool', content: 'F' },
    { role: 'tool', content: 'H', name: 'h', tool_call_id: 'own' },
    { role: 'tool', content: '?', tool_name: 'nobody' },
  ]);
  expect(found[1]).toMatchObject({
    toolCalls: [
      { id: 'call_1_0', json: '{"a":1}' },
      { id: 'call_1_1', json: '{}' },
      { id: 'call_1_2', json: '{}' },
    ],
  });
  expect(found.slice(2)).toEqual([
    { role: 'tool', content: text('G'), toolName: 'g', callId: 'call_1_1' },
    { role: 'tool', content: text('F'), toolName: 'f', callId: 'call_1_0' },
    { role: 'tool', content: text('H'), toolName: 'h', callId: 'own' },
    { role: 'tool', content: text('?'), toolName: 'nobody' },
  ]);
});

test.each([
  ['no', 'messages must be an array.'],
  [[1], 'messages[0] must be an object.'],
  [[{ role: 'user', content: 5 }], 'messages[0].content must be a string.'],
  [[{ role: 'user', content: [{ type: 'text', text: 'x' }] }], 'messages[0].content must be a string.'],
  [[{ content: 'x' }], 'messages[0].role must be system, user, assistant or tool.'],
  [[{ role: 'user', content: '', images: ['aGk='] }], /Image input \(messages\[0\]\.images\[0\]\) is not possible/],
  [[{ role: 'assistant', tool_calls: [{}] }], 'messages[0].tool_calls[0].function must be an object.'],
  [[{ role: 'assistant', tool_calls: [{ function: {} }] }], 'messages[0].tool_calls[0].function.name must be a name.'],
  [
    [{ role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: 7 } }] }],
    'messages[0].tool_calls[0].function.arguments must be an object.',
  ],
])('decodeMessages: refuses %j by name', (messages, sentence) =>
  expect(() => decodeMessages(messages)).toThrow(sentence),
);

test('decodeMessages: images come before the text, and audio is found by its bytes', () => {
  const attachments = sighted({ addresses: false });
  const wav = Buffer.from('RIFF....WAVE').toString('base64');
  const [message, result] = decodeMessages(
    [
      { role: 'user', content: 'What is it?', images: ['AAAA', 'data:image/png;base64,BBBB', wav] },
      { role: 'tool', content: JSON.stringify({ content: [{ type: 'image', data: 'CCCC' }] }) },
    ],
    attachments,
  );
  expect(message?.content).toEqual([
    { type: 'medium', index: 0 },
    { type: 'medium', index: 1 },
    { type: 'medium', index: 2 },
    ...text('What is it?'),
  ]);
  expect(result?.content.at(-1)).toEqual({ type: 'medium', index: 3 });
  expect(attachments.inline()).toEqual([
    { kind: 'image', base64: 'AAAA' },
    { kind: 'image', base64: 'BBBB', format: 'image/png' },
    { kind: 'audio', base64: wav },
    { kind: 'image', base64: 'CCCC' },
  ]);
});

test.each([
  [['?'], 'messages[0].images[0] must be a picture or a sound in base64.'],
  [['AAAA', 'https://pictures.example/a.png'], 'messages[0].images[1] must be a picture or a sound in base64.'],
  ['AAAA', 'messages[0].images must be an array of base64 strings.'],
  [[7], 'messages[0].images must be an array of base64 strings.'],
])('decodeMessages: refuses the images %j by name', (images, sentence) => {
  const messages = [{ role: 'user', content: '', images }];
  expect(() => decodeMessages(messages, sighted({ addresses: false }))).toThrow(sentence);
});

test('decodeMessages: an empty list of images', () => {
  expect(decodeMessages([{ role: 'user', content: 'Hi', images: [] }])).toHaveLength(1);
});

test('decodeTools: keeps schemas, and has one for no parameters', () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } } };
  expect(
    decodeTools([
      { type: 'function', function: { name: 'f', description: 'F', parameters } },
      { function: { name: 'g' } },
    ]),
  ).toEqual([
    { name: 'f', description: 'F', parameters },
    { name: 'g', parameters: { type: 'object', properties: {} } },
  ]);
});

test.each([
  [{}, 'tools must be an array.'],
  [[null], 'tools[0] must be an object.'],
  [[{ type: 'web_search' }], 'tools[0].type must be "function".'],
  [[{ type: 'function' }], 'tools[0].function must be an object.'],
  [[{ function: { name: '' } }], 'tools[0].function.name must be a name.'],
  [[{ function: { name: 'f', parameters: 'x' } }], 'tools[0].function.parameters must be a JSON schema.'],
])('decodeTools: refuses %j by name', (tools, sentence) => expect(() => decodeTools(tools)).toThrow(sentence));
