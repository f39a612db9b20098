import { expect, test } from 'vitest';
import type { Medium } from '../core/request.ts';
import {
  type Attach,
  type Content,
  type ContentPart,
  type Conversation,
  flatContent,
  joinContent,
  readToolResult,
  text,
  withMessages,
} from './messages.ts';

const medium = (index: number): ContentPart => ({ type: 'medium', index });
const image = (base64: string): Medium => ({ kind: 'image', base64 });
const user = (content: Content) => ({ role: 'user' as const, content });

test('flatContent: numbers images and recordings separately', () => {
  const media: Medium[] = [image('A'), { kind: 'audio', base64: 'B' }, image('C')];
  expect(flatContent([medium(0), medium(1), medium(2)], media)).toBe(
    '\n(Attached Image 1)\n\n(Attached Audio 1)\n\n(Attached Image 2)\n',
  );
});

test('joinContent: joins texts, and adds no separator next to media', () => {
  const joined = joinContent([text('a'), text(''), text('b'), [medium(0)], [...text('c'), ...text('d')]], '\n');
  expect(joined).toEqual([...text('a\nb'), medium(0), ...text('cd')]);
});

test('withMessages: removes unreferenced media and renumbers the rest', () => {
  const conversation: Conversation = {
    messages: [user([medium(0)]), user([medium(1)]), user([medium(2), medium(1)])],
    media: [image('A'), image('B'), image('C')],
    tools: [],
  };
  expect(withMessages(conversation, conversation.messages.slice(2))).toEqual({
    messages: [user([medium(1), medium(0)])],
    media: [image('B'), image('C')],
    tools: [],
  });
  expect(withMessages(conversation, conversation.messages)).toEqual(conversation);
});

function read(result: string) {
  const attached: Parameters<Attach>[] = [];
  const content = readToolResult(result, (...medium) => {
    attached.push(medium);
    return { type: 'medium', index: attached.length + 1 };
  });
  return { content, attached };
}

test.each(['sunny', '{"temperature":20}', '{broken', '{"content":[{"type":"text","text":"x"}]}', '{"content":7}'])(
  'the ordinary result %s is text',
  (result) => expect(read(result)).toEqual({ content: [{ type: 'text', text: result }], attached: [] }),
);

test('readToolResult: moves images and recordings to the media, with a note in their place', () => {
  const result = JSON.stringify({
    content: [
      { type: 'text', text: 'A chart:' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'audio', data: 'BBBB' },
    ],
  });
  const { content, attached } = read(result);
  expect(attached).toEqual([
    ['image', 'AAAA', 'image/png'],
    ['audio', 'BBBB', undefined],
  ]);
  expect(content).toEqual([
    {
      type: 'text',
      text: '{"content":[{"type":"text","text":"A chart:"},{"type":"text","text":"(the image is attached)"},{"type":"text","text":"(the audio is attached)"}]}',
    },
    { type: 'medium', index: 2 },
    { type: 'medium', index: 3 },
  ]);
});
