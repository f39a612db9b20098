import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { chatAdapter } from '../chat/adapters/adapter.ts';
import { defaultControls } from '../core/request.ts';
import type { Script } from '../engines/testing/fake-engine.ts';
import { terminalChat } from './terminal-chat.ts';
import { fakeService } from './testing/service.ts';

const { tags } = chatAdapter({
  userStart: '<u>',
  userEnd: '</u>',
  assistantStart: '<a>',
  assistantEnd: '</a>',
});
const later = () => new Promise((resolve) => setImmediate(resolve));

/** A conversation whose input is typed by the test. */
function world(script: (prompt: string) => Script, pace?: (next: () => void) => unknown) {
  const { text, engine, asked } = fakeService(({ prompt }) => script(prompt), pace ? { pace } : {});
  const [input, output] = [new PassThrough(), new PassThrough()];
  const closed = new AbortController();
  let written = '';
  output.setEncoding('utf8').on('data', (piece: string) => {
    written += piece;
  });
  const over = terminalChat({
    text,
    tags,
    controls: { ...defaultControls, maxTokens: 30 },
    input,
    output,
    closed: closed.signal,
  });
  const until = async (condition: () => boolean) => {
    while (!condition()) await later();
  };
  return { engine, asked, input, closed, over, until, written: () => written };
}

const echo = (prompt: string): Script => ({ pieces: [`(${prompt.length})`] });

async function talk(lines: readonly string[], script = echo) {
  const chat = world(script);
  chat.input.end(lines.map((line) => `${line}\n`).join(''));
  await chat.over;
  return chat;
}

describe('terminalChat', () => {
  test('puts the input between the tags, after the earlier turns', async () => {
    const { asked } = await talk(['Hello', 'And then?'], () => ({ pieces: ['Hi', '!'] }));
    expect(asked.map(({ prompt }) => prompt)).toEqual(['<u>Hello</u><a>', '<u>Hello</u><a>Hi!</a><u>And then?</u><a>']);
    expect(asked[0]).toMatchObject({ maxTokens: 30, stop: ['<u>'] });
  });

  test('streams the reply', async () => {
    expect((await talk(['Hello'], () => ({ pieces: ['Hi', ' there'] }))).written()).toContain('Hi there\n');
  });

  test('shows the commands at the start and for an unknown command', async () => {
    const { written, asked } = await talk(['/what']);
    expect(written().match(/Commands: \/clear/g)).toHaveLength(2);
    expect(asked).toEqual([]);
  });

  test('/clear removes all turns, /undo the last one', async () => {
    const reply = () => ({ pieces: ['ok'] });
    const cleared = await talk(['one', '/clear', 'two'], reply);
    expect(cleared.asked.at(-1)?.prompt).toBe('<u>two</u><a>');
    const undone = await talk(['one', 'two', '/undo', 'three'], reply);
    expect(undone.asked.at(-1)?.prompt).toBe('<u>one</u><a>ok</a><u>three</u><a>');
    expect((await talk(['/undo', 'one'], reply)).asked[0]?.prompt).toBe('<u>one</u><a>');
  });

  test.each(['/quit', '/exit'])('%s ends the chat, with any text after it', async (word) => {
    expect((await talk([word, 'Hello'])).asked).toEqual([]);
  });

  test('ignores empty lines', async () => {
    expect((await talk(['', '   ', 'Hello'])).asked).toHaveLength(1);
  });

  test('reports a failure and continues without that turn', async () => {
    const { written, asked } = await talk(['one', 'two'], (prompt) =>
      prompt.includes('one') ? { pieces: ['x'], end: 'lost' } : { pieces: ['fine'] },
    );
    expect(written()).toContain('The text engine stopped in the middle of this request');
    expect(asked.at(-1)?.prompt).toBe('<u>two</u><a>');
    expect(written()).toContain('fine');
  });
});

describe('terminalChat: closed output', () => {
  test('stops the reply and ends the chat, although the input continues', async () => {
    const steps: (() => void)[] = [];
    const chat = world(
      () => ({ pieces: ['a', 'b', 'c'] }),
      (next) => steps.push(next),
    );
    chat.input.write('Hello\n');
    await chat.until(() => steps.length > 0);
    steps.shift()?.();
    await chat.until(() => steps.length > 0);
    chat.closed.abort();
    await chat.over;
    expect(chat.engine.running).toBe(0);
  });

  test('ends a chat that waits for its next line', async () => {
    const chat = world(echo);
    await chat.until(() => chat.written().includes('> '));
    chat.closed.abort();
    await chat.over;
    expect(chat.asked).toEqual([]);
  });
});
