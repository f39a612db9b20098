import { expect, test } from 'vitest';
import { type Message, text } from '../../chat/messages.ts';
import { AppError } from '../../core/errors.ts';
import { whole } from '../../core/slices.ts';
import type { StoredItem } from '../../store/responses.ts';
import { sealText } from '../sealed-text.ts';
import { blind, sighted } from '../testing/attachments.ts';
import { readConversation } from './conversation.ts';
import { readInput } from './decode.ts';
import type { OfferedTool } from './tools.ts';

const stored: StoredItem = { id: 'msg_old', type: 'message', role: 'assistant', content: 'Earlier.' };

function read(input: unknown, offered: readonly OfferedTool[] = [], attachments = blind()) {
  let ids = 0;
  const newId = (prefix: string): string => {
    ids += 1;
    return `${prefix}${ids}`;
  };
  const found = whole(readInput({ input }, { newId, storedItem: (id) => (id === stored.id ? stored : undefined) }));
  return { ...found, ...whole(readConversation(found.items, { offered, attachments, sources: [] })) };
}

const user = (words: string): Message => ({ role: 'user', content: text(words) });
const question = { role: 'user', content: 'Weather?' };
const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":"sky"}' };
const record = { id: 'call_1', name: 'look', json: '{"at":"sky"}' };
const thought = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] };

test.each<[string, unknown, Message[]]>([
  ['readConversation: a text is a user message', 'Hi', [user('Hi')]],
  ['readConversation: a message without type', [{ role: 'user', content: 'Hi' }], [user('Hi')]],
  [
    'readConversation: developer becomes system',
    [
      { role: 'developer', content: 'Be kind.' },
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] },
    ],
    [
      { role: 'system', content: text('Be kind.') },
      { role: 'system', content: text('Be brief.') },
    ],
  ],
  [
    'readConversation: parts of every kind of text',
    [
      {
        role: 'user',
        content: ['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text'].map((type) => ({
          type,
          text: type,
        })),
      },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    ],
    [
      {
        role: 'user',
        content: ['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text'].flatMap(text),
      },
      { role: 'assistant', content: text('No.') },
    ],
  ],
  [
    'readConversation: a text file becomes its text',
    [
      {
        role: 'user',
        content: [{ type: 'input_file', filename: 'a.txt', file_data: `data:text/plain;base64,${btoa('one\ntwo')}` }],
      },
    ],
    [user('a.txt:\none\ntwo\n')],
  ],
  [
    'readConversation: consecutive reasoning, text and calls are one turn; the result has the tool name',
    [
      question,
      thought,
      {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'So.' }],
      },
      call,
      { ...call, call_id: 'call_2' },
      { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'rain', status: 'completed' },
      { type: 'function_call_output', call_id: 'call_2', output: [{ type: 'input_text', text: 'sun' }] },
    ],
    [
      user('Weather?'),
      {
        role: 'assistant',
        content: text('So.'),
        reasoning: 'hm',
        toolCalls: [record, { ...record, id: 'call_2' }],
      },
      { role: 'tool', content: text('rain'), callId: 'call_1', toolName: 'look' },
      { role: 'tool', content: text('sun'), callId: 'call_2', toolName: 'look' },
    ],
  ],
  [
    'readConversation: the result of an unknown call',
    [{ type: 'function_call_output', call_id: 'call_9', output: '' }],
    [{ role: 'tool', content: [], callId: 'call_9' }],
  ],
  [
    'readConversation: a custom tool call has its text as input',
    [
      { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: 'a\nb' },
      { type: 'custom_tool_call_output', call_id: 'call_1', output: 'done' },
    ],
    [
      { role: 'assistant', content: [], toolCalls: [{ id: 'call_1', name: 'patch', json: '{"input":"a\\nb"}' }] },
      { role: 'tool', content: text('done'), callId: 'call_1', toolName: 'patch' },
    ],
  ],
  [
    'readConversation: reasoning from content, summary or encrypted_content',
    [
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'raw' }], encrypted_content: null },
      { type: 'reasoning', summary: [], content: null, encrypted_content: sealText('déjà vu') },
      { type: 'reasoning', summary: [], content: null, encrypted_content: 'sealReasoning by somebody else' },
      { role: 'assistant', content: 'Hi' },
    ],
    [{ role: 'assistant', content: text('Hi'), reasoning: 'raw\n\ndéjà vu' }],
  ],
  [
    'readConversation: item_reference, with or without its type',
    [{ type: 'item_reference', id: 'msg_old' }, question, { id: 'msg_old' }],
    [
      { role: 'assistant', content: text('Earlier.') },
      user('Weather?'),
      { role: 'assistant', content: text('Earlier.') },
    ],
  ],
])('%s', (_, input, messages) => expect(read(input).messages).toEqual(messages));

test('readConversation: calls of namespace members have the name in the prompt', () => {
  const member = {
    kind: 'function',
    name: 'look',
    namespace: 'sky',
    tool: { name: 'sky__look', parameters: {} },
  } as const;
  const { messages } = read([{ ...call, namespace: 'sky' }], [member]);
  expect(messages).toMatchObject([{ toolCalls: [{ name: 'sky__look' }] }]);
});

test('readConversation: skips and names items of unknown types', () => {
  const { messages, missing, skipped } = read([
    { type: 'web_search_call', id: 'ws_1' },
    question,
    { type: 'item_reference', id: 'msg_unknown' },
  ]);
  expect(messages).toEqual([user('Weather?')]);
  expect([missing, skipped]).toEqual([['input[2]'], ['input[0] (web_search_call)']]);
});

test('readInput: adds missing types and ids', () => {
  const { items } = read([question, call, { ...thought, id: 'rs_own' }, { type: 'mcp_call' }]);
  expect(items.map(({ item }) => [item.type, item.id])).toEqual([
    ['message', 'msg_1'],
    ['function_call', 'fc_2'],
    ['reasoning', 'rs_own'],
    ['mcp_call', 'item_3'],
  ]);
  expect(items[0]?.item.content).toEqual([{ type: 'input_text', text: 'Weather?' }]);
});

test.each<[unknown, string]>([
  [undefined, 'input must be a string or an array of items.'],
  [5, 'input must be a string or an array of items.'],
  [['Hi'], 'input[0] must be an object.'],
  [[{}], 'input[0] must be an item with a type, or a message with a role.'],
  [[{ type: 5 }], 'input[0].type must be a string.'],
  [[{ role: 'narrator', content: '' }], 'input[0].role must be "user", "assistant", "system" or "developer".'],
  [[question, { role: 'user', content: 5 }], 'input[1].content must be a string or an array of content parts.'],
  [[{ role: 'user', content: ['Hi'] }], 'input[0].content[0] must be an object.'],
  [[{ role: 'user', content: [{ type: 'video' }] }], 'input[0].content[0].type must be one of input_text, '],
  [[{ role: 'user', content: [{ type: 'input_text' }] }], 'input[0].content[0].text must be a string.'],
  [[{ ...call, call_id: undefined }], 'input[0].call_id must be a string.'],
  [[{ ...call, arguments: 5 }], 'input[0].arguments must be a string.'],
  [[{ type: 'function_call_output', call_id: 'a' }], 'input[0].output must be a string or an array of content parts.'],
])('readInput, readConversation: reject %j with its path', (input, sentence) => {
  expect(() => read(input)).toThrow(sentence);
});

test.each([
  { type: 'input_image', image_url: 'data:image/png;base64,AA==' },
  { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
  { type: 'input_file', file_id: 'file_1' },
  { type: 'input_file', file_data: btoa('%PDF\0') },
])('readConversation: rejects an unreadable $type', (part) => {
  expect(() => read([{ role: 'user', content: [part] }])).toThrow(AppError);
  expect(() => read([{ role: 'user', content: [part] }])).toThrow('input[0].content[0]');
});

const png = 'data:image/png;base64,AAAA';
const shown = (index: number) => ({ type: 'medium', index }) as const;

test('readConversation: attaches media in messages and results', () => {
  const attachments = sighted();
  const { messages } = read(
    [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is it?' },
          { type: 'input_image', image_url: png, detail: 'auto' },
          { type: 'input_image', image_url: { url: 'AAAA' } },
          { type: 'input_file', filename: 'a.png', file_data: png },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
        ],
      },
      call,
      { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_image', image_url: png }] },
    ],
    [],
    attachments,
  );
  expect(messages.map(({ content }) => content)).toEqual([
    [...text('What is it?'), shown(0), shown(1), shown(2), shown(3)],
    [],
    [shown(4)],
  ]);
  const kinds = attachments.inline().map(({ kind, format }) => [kind, format]);
  expect(kinds).toEqual([
    ['image', 'image/png'],
    ['image', undefined],
    ['image', 'image/png'],
    ['audio', 'wav'],
    ['image', 'image/png'],
  ]);
});

test('readConversation: attaches pictures in the text of a tool result', () => {
  const output = JSON.stringify({ content: [{ type: 'image', data: 'AAAA' }] });
  const { messages } = read([{ type: 'function_call_output', call_id: 'call_1', output }], [], sighted());
  expect(messages[0]?.content).toEqual([
    ...text('{"content":[{"type":"text","text":"(the image is attached)"}]}'),
    shown(0),
  ]);
});

test.each([
  [{ type: 'input_image', image_url: 'file:///a.png' }, 'input[0].content[0].image_url must be a data URL, base64, or'],
  [{ type: 'input_image', image_url: { url: '?' } }, 'input[0].content[0].image_url.url must be a picture in base64.'],
  [
    { type: 'input_image', file_id: 'file_1' },
    'Image input (input[0].content[0]) is not possible: only pictures that are sent along',
  ],
  [{ type: 'input_image' }, 'input[0].content[0].image_url must be a string.'],
  [{ type: 'input_audio' }, 'input[0].content[0].input_audio must be an object with data and format.'],
])('readConversation: rejects %j with its path', (part, sentence) => {
  expect(() => read([{ role: 'user', content: [part] }], [], sighted())).toThrow(sentence);
});
