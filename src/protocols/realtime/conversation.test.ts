import { describe, expect, test } from 'vitest';
import { plainText } from '../../chat/messages.ts';
import { Conversation, type Item, type MessageItem, messagesOf, truncate, withoutOldest } from './conversation.ts';

const said = (id: string, text: string, role: MessageItem['role'] = 'user'): MessageItem => ({
  type: 'message',
  id,
  role,
  status: 'completed',
  parts: [{ type: 'text', text }],
});

const spoken = (): MessageItem => ({
  type: 'message',
  id: 'a',
  role: 'assistant',
  status: 'completed',
  parts: [
    {
      type: 'audio',
      transcript: 'Hello there. How are you today? Fine.',
      spoken: [
        { text: 'Hello there. ', milliseconds: 1000 },
        { text: 'How are you today? ', milliseconds: 2000 },
        { text: 'Fine.', milliseconds: 500 },
      ],
    },
  ],
});

const transcriptOf = ({ parts: [part] }: MessageItem): string | undefined =>
  part?.type === 'audio' ? part.transcript : undefined;

describe('truncate', () => {
  test.each([
    [0, ''],
    [1000, 'Hello there. '],
    [2000, 'Hello there. How are '],
    [3500, 'Hello there. How are you today? Fine.'],
    [3560, 'Hello there. How are you today? Fine.'],
  ])('after %i ms: keeps what was heard', (milliseconds, heard) => {
    const item = spoken();
    truncate(item, 0, milliseconds);
    expect(transcriptOf(item)).toBe(heard);
  });

  test('refuses more than there is, and items that were not spoken', () => {
    expect(() => truncate(spoken(), 0, 9000)).toThrow('has 3500 ms');
    expect(() => truncate(spoken(), 1, 100)).toThrow('Only spoken answers');
    expect(() => truncate(said('b', 'Hi'), 0, 100)).toThrow('Only spoken answers');
  });
});

describe('Conversation', () => {
  test('adds items at the end, at the front and behind another', () => {
    const conversation = new Conversation();
    expect(conversation.add(said('a', 'A'))).toBe(null);
    expect(conversation.add(said('b', 'B'))).toBe('a');
    expect(conversation.add(said('c', 'C'), 'a')).toBe('a');
    expect(conversation.add(said('d', 'D'), 'root')).toBe(null);
    expect(conversation.items.map(({ id }) => id)).toEqual(['d', 'a', 'c', 'b']);
    expect(() => conversation.add(said('a', 'again'))).toThrow('already');
    expect(() => conversation.add(said('e', 'E'), 'nobody')).toThrow('no item "nobody"');
    conversation.remove('a');
    expect(() => conversation.get('a')).toThrow('no item "a"');
  });

  test('drops the oldest items beyond its limits', () => {
    const conversation = new Conversation();
    for (let index = 0; index < 1003; index++) conversation.add(said(`${index}`, 'x'));
    expect(conversation.trim()).toEqual(['0', '1', '2']);
    conversation.add(said('long', 'x'.repeat(2 ** 21)));
    expect(conversation.trim().length).toBe(1000);
    expect(conversation.items.map(({ id }) => id)).toEqual(['long']);
  });
});

describe('messagesOf', () => {
  test('instructions are the system turn; noise is left out; calls are part of the answer before them', () => {
    const items: Item[] = [
      said('1', 'What is the weather?'),
      { type: 'message', id: '2', role: 'user', status: 'completed', parts: [{ type: 'audio', transcript: '' }] },
      said('3', 'One moment.', 'assistant'),
      { type: 'call', id: '4', status: 'completed', callId: 'c1', name: 'weather', arguments: '{}' },
      { type: 'call-output', id: '5', status: 'completed', callId: 'c1', output: 'sunny' },
    ];
    const messages = messagesOf('Be brief.', items);
    expect(messages.map(({ role, content }) => [role, plainText(content)])).toEqual([
      ['system', 'Be brief.'],
      ['user', 'What is the weather?'],
      ['assistant', 'One moment.'],
      ['tool', 'sunny'],
    ]);
    expect(messages[2]).toMatchObject({ toolCalls: [{ id: 'c1', name: 'weather', json: '{}' }] });
    expect(messages[3]).toMatchObject({ callId: 'c1', toolName: 'weather' });
  });

  test('withoutOldest: keeps the instructions and begins with a turn of the user', () => {
    const items = ['1', '2', '3', '4', '5'].map((id, index) => said(id, id, index % 2 === 0 ? 'user' : 'assistant'));
    const shorter = withoutOldest(messagesOf('Be brief.', items)) ?? [];
    expect(shorter.map(({ content }) => plainText(content))).toEqual(['Be brief.', '3', '4', '5']);
    const last = withoutOldest(withoutOldest(shorter) ?? []);
    expect(last).toBe(undefined);
  });
});
