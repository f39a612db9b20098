import { describe, expect, test } from 'vitest';
import type { Turn } from '../conversations/conversation.ts';
import { fenced, wireMessages } from './messages.ts';

const read = async (blob: Blob): Promise<string> => `data:${blob.type};base64,AAAA`;
const turn = (role: Turn['role'], text: string, more: Partial<Turn> = {}): Turn => ({
  id: text,
  parent: null,
  role,
  text,
  at: 0,
  ...more,
});

describe('wireMessages', () => {
  test('returns the turns after the system prompt', async () => {
    const path = [turn('user', 'Hi'), turn('assistant', 'Hello')];
    const said = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello' },
    ];
    expect(await wireMessages('', path, read)).toEqual(said);
    expect(await wireMessages('  ', path, read)).toEqual(said);
    expect(await wireMessages('Be kind.', path, read)).toEqual([{ role: 'system', content: 'Be kind.' }, ...said]);
  });

  test('puts text files before the text', async () => {
    const attachments = [{ id: 'a', kind: 'text', name: 'list.txt', text: 'milk\n' } as const];
    const [message] = await wireMessages('', [turn('user', 'What is missing?', { attachments })], read);
    expect(message?.content).toBe('File list.txt:\n```\nmilk\n```\n\nWhat is missing?');
  });

  test('puts sources before the text, and leaves out documents that are sent by passages', async () => {
    const attachments = [{ id: 'a', kind: 'text', name: 'book.txt', text: 'A long book', send: 'passages' } as const];
    const sources = [{ title: 'book.txt', text: 'long' }];
    const [message] = await wireMessages('', [turn('user', 'How long?', { attachments, sources })], read);
    expect(message?.content).toBe(
      'Sources. Cite the number of each that you use in brackets, such as [1], after the sentence that it supports:\n\n[1] book.txt\n```\nlong\n```\n\nHow long?',
    );
  });

  test('sends images and audio as parts', async () => {
    const attachments = [
      { id: 'a', kind: 'image', name: 'x.png', blob: new Blob(['x'], { type: 'image/png' }) },
      { id: 'b', kind: 'audio', name: 'x.mp3', blob: new Blob(['x'], { type: 'audio/mpeg' }) },
      { id: 'c', kind: 'audio', name: 'x.wav', blob: new Blob(['x'], { type: 'audio/x-wav' }) },
    ] as const;
    const [message, wordless] = await wireMessages(
      '',
      [turn('user', 'What is it?', { attachments }), turn('user', '', { attachments: attachments.slice(0, 1) })],
      read,
    );
    expect(message?.content).toEqual([
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mpeg' } },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      { type: 'text', text: 'What is it?' },
    ]);
    expect(wordless?.content).toHaveLength(1);
  });

  test('sends tool calls and results, and reasoning of the current question only', async () => {
    const calls = [{ id: 'k', name: 'clock', arguments: '{}' }];
    const asked = turn('assistant', '', { calls, reasoning: 'Look.' });
    const result = turn('tool', '12:00', { callId: 'k' });
    const [, first, answer, , second] = await wireMessages(
      '',
      [turn('user', 'Time?'), asked, result, turn('user', 'And now?'), { ...asked, text: 'Again.' }],
      read,
    );
    const tool_calls = [{ id: 'k', type: 'function', function: { name: 'clock', arguments: '{}' } }];
    expect(first).toEqual({ role: 'assistant', content: null, tool_calls });
    expect(answer).toEqual({ role: 'tool', content: '12:00', tool_call_id: 'k' });
    expect(second).toEqual({ role: 'assistant', content: 'Again.', tool_calls, reasoning_content: 'Look.' });
  });

  test('describes generated images by their prompt', async () => {
    const [message] = await wireMessages('', [turn('assistant', '', { drawn: 'a fox' })], read);
    expect(message).toEqual({ role: 'assistant', content: '(A picture: a fox)' });
  });
});

test('fenced: uses a longer fence than any in the file', () => {
  expect(fenced({ name: 'x.md', text: 'a\n````js\nb\n````' })).toBe('File x.md:\n`````\na\n````js\nb\n````\n`````');
  expect(fenced({ name: 'x' })).toBe('File x:\n```\n\n```');
});
