import { describe, expect, test } from 'vitest';
import { buildPrompt } from '../story/prompt.ts';
import type { Mode } from '../story/story.ts';
import { storyOfTexts } from '../story/testing/stories.ts';
import { stopsOf } from '../story/turns.ts';
import { joinedReply, replyRequest } from './reply.ts';

const options = { sampling: { temperature: 0.5 }, replyLength: 80, probabilities: false, context: 4096 };

function asked(mode: Mode, changed: Partial<typeof options> = {}) {
  const story = storyOfTexts(['Begin.', 'me:Go on.'], { mode, memory: 'M.' });
  const pending = { key: 'k1', passage: 'c', begin: '', stops: stopsOf(story) };
  return replyRequest(story, buildPrompt(story, { tokens: 1000, charactersPerToken: 4 }), pending, {
    ...options,
    ...changed,
  });
}

describe('replyRequest', () => {
  test('has the prompt, memory and options of the native API', () => {
    expect(asked('chat')).toEqual({
      temperature: 0.5,
      prompt: 'Parley: Begin.\nYou: Go on.\nParley:',
      memory: 'M.\n',
      max_length: 80,
      max_context_length: 4096,
      stop_sequence: ['\nYou:', '\nParley:', '\n'],
      trim_stop: true,
      replace_instruct_placeholders: false,
      logprobs: false,
      genkey: 'k1',
    });
  });

  test.each([
    ['story', false],
    ['adventure', false],
    ['chat', false],
    ['instruct', true],
  ] as const)('in %s has marks that mean something: %s', (mode, expected) => {
    expect(asked(mode).replace_instruct_placeholders).toBe(expected);
  });

  test('has no context size if it is unknown', () => {
    expect('max_context_length' in asked('story', { context: 0 })).toBe(false);
  });

  test('requests logprobs only if they are shown', () => {
    expect(asked('story', { probabilities: true }).logprobs).toBe(true);
  });

  test('samplers never override the prompt or the key', () => {
    const odd = asked('story', { sampling: { prompt: 1, genkey: 2, max_length: 3 } as never });
    expect(odd).toMatchObject({ prompt: 'Begin.Go on.', genkey: 'k1', max_length: 80 });
  });
});

describe('joinedReply', () => {
  test.each([
    ['story', ['Once'], ' more', ' more'],
    ['story', ['Once.\n\n'], '  More', 'More'],
    ['story', [], ' More', 'More'],
    ['story', ['Once.\n\n'], '\nMore', '\nMore'],
    ['chat', ['Hi.'], ' Hello', 'Hello'],
    ['instruct', ['me:Hi.'], '\n\nHello', 'Hello'],
    ['adventure', ['Hi.'], '\nHello', 'Hello'],
  ] as const)('in %s after %j: %j is shown as %j', (mode, texts, reply, expected) => {
    const story = storyOfTexts([...texts, ''], { mode });
    const last = story.passages.at(-1)?.id ?? '';
    expect(joinedReply(story, last, '', reply)).toBe(expected);
  });

  test.each(['story', 'chat', 'instruct'] as const)('in %s goes on with given words as they are', (mode) => {
    expect(joinedReply(storyOfTexts(['']), 'a', 'Well,', ' then')).toBe('Well, then');
    expect(joinedReply(storyOfTexts([''], { mode }), 'a', 'Well', '')).toBe('Well');
  });
});
