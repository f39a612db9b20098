import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import { whole } from '../core/slices.ts';
import { chatAdapter } from './adapters/adapter.ts';
import { type Attempt, firstThatFits } from './generation-steps.ts';
import { type Conversation, type Message, text } from './messages.ts';
import { type FlatPromptOptions, flatPrompt } from './prompt.ts';

const { tags } = chatAdapter({
  chatStart: '<bos>',
  systemStart: '<S>',
  systemEnd: '</S>',
  userStart: '<U>\n',
  userEnd: '</U>',
  assistantStart: '<A>',
  assistantEnd: '</A>',
  assistantGen: '<A!>',
  toolsStart: '<T>',
  toolsEnd: '</T>',
});

const system: Message = { role: 'system', content: text('Be kind.') };
const user: Message = { role: 'user', content: text('Hi') };
const assistant: Message = { role: 'assistant', content: text('Hello') };

function prompt(messages: readonly Message[], rest: Partial<Conversation> & Partial<FlatPromptOptions> = {}) {
  const conversation = { messages, media: rest.media ?? [], tools: rest.tools ?? [] };
  return whole(
    flatPrompt(conversation, tags, {
      continueAssistantTurn: rest.continueAssistantTurn ?? true,
      stop: rest.stop ?? [],
      ...rest,
    }),
  );
}

test('flatPrompt: puts each turn between its tags and opens the reply', () => {
  expect(prompt([system, user, assistant, user]).prompt).toBe(
    '<bos><S>Be kind.</S><U>\nHi</U><A>Hello</A><U>\nHi</U><A!>',
  );
});

test('flatPrompt: leaves a last assistant turn open', () => {
  expect(prompt([user, assistant]).prompt).toBe('<bos><U>\nHi</U><A>Hello');
});

test('flatPrompt: closes a last assistant turn without continueAssistantTurn', () => {
  expect(prompt([user, assistant], { continueAssistantTurn: false }).prompt).toBe('<bos><U>\nHi</U><A>Hello</A><A!>');
});

test('flatPrompt: an unknown role has no tags', () => {
  expect(prompt([{ role: 'other', roleName: 'critic', content: text('Meh.') }]).prompt).toBe('<bos>Meh.<A!>');
});

test('flatPrompt: numbers images and recordings separately', () => {
  const content = [
    { type: 'medium', index: 0 },
    { type: 'text', text: 'and' },
    { type: 'medium', index: 1 },
    { type: 'medium', index: 2 },
  ] as const;
  const media = [
    { kind: 'image', base64: 'A' },
    { kind: 'audio', base64: 'B' },
    { kind: 'image', base64: 'C' },
  ] as const;
  expect(prompt([{ role: 'user', content }], { media }).prompt).toBe(
    '<bos><U>\n\n(Attached Image 1)\nand\n(Attached Audio 1)\n\n(Attached Image 2)\n</U><A!>',
  );
});

describe('flatPrompt: tools', () => {
  const call: Message = {
    role: 'assistant',
    content: [],
    toolCalls: [{ id: 'call_1', name: 'look', json: '{"at":"sky"}' }],
  };
  const result: Message = { role: 'tool', callId: 'call_1', content: text('blue') };

  test('writes calls and results as text', () => {
    expect(prompt([user, call, result]).prompt).toBe(
      '<bos><U>\nHi</U><A>\n[Made a function call to look with arguments {"at":"sky"}]\n</A>' +
        '<T>\n[Received results of function call]\nblue</T><A!>',
    );
  });

  test('writes ids only if one turn made several calls', () => {
    const several: Message = { ...call, toolCalls: ['a', 'b'].map((id) => ({ id, name: 'look', json: '{}' })) };
    const shown = prompt([user, several, { ...result, callId: 'b' }]).prompt;
    expect(shown).toContain('[Made a function call a to look with arguments {}]');
    expect(shown).toContain('[Received results of function call b]');
  });

  test('does not continue a turn with calls', () => {
    expect(prompt([user, call]).prompt).toMatch(/<\/A><A!>$/);
  });

  test('lists tools before the memory, with the types of their properties', () => {
    const tools = [
      { name: 'look', description: 'Looks', parameters: { properties: { at: { type: 'string' }, how: {} } } },
      { name: 'wait', parameters: {} },
    ];
    expect(prompt([user], { tools, memory: 'Old.' }).memory).toBe(
      '<S>Available Tools:\n[{"name":"look","description":"Looks","parameters":{"at":"string","how":"any"}},' +
        '{"name":"wait","parameters":{}}]\n</S>Old.',
    );
  });

  test('a reply to a result stops at another call, unless a tool is forced', () => {
    expect(prompt([user, call, result]).stop).toEqual(['<U>', '[Made a function call']);
    expect(prompt([user, call, result], { toolForced: true }).stop).toEqual(['<U>']);
  });
});

test('flatPrompt: the start of a user turn is a stop text, once', () => {
  expect(prompt([user], { stop: ['x', '<U>'] }).stop).toEqual(['x', '<U>']);
});

const said = (text: string): GenerationEvent => ({ type: 'text-delta', text });
const tooLong = (promptTokens: number): GenerationEvent => ({
  type: 'error',
  error: new AppError('context-overflow', { promptTokens, contextSize: 10 }),
});
const lost: GenerationEvent = { type: 'error', error: new AppError('engine-lost', { capability: 'text' }) };

async function tried(...scripts: GenerationEvent[][]) {
  let attempts = 0;
  const made = scripts.map(
    (events): Attempt =>
      async () => {
        attempts += 1;
        return (async function* () {
          yield* events;
        })();
      },
  );
  const events: GenerationEvent[] = [];
  for await (const event of firstThatFits(made)) events.push(event);
  return { events, attempts };
}

test('firstThatFits: uses the first attempt if it fits', async () => {
  expect(await tried([said('long')], [said('short')])).toEqual({ events: [said('long')], attempts: 1 });
});

test('firstThatFits: continues after context-overflow', async () => {
  expect(await tried([tooLong(30)], [tooLong(20)], [said('short')])).toEqual({ events: [said('short')], attempts: 3 });
});

test('firstThatFits: returns the error of the last attempt', async () => {
  expect(await tried([tooLong(30)], [tooLong(20)])).toEqual({ events: [tooLong(20)], attempts: 2 });
});

test('firstThatFits: does not retry other errors', async () => {
  expect(await tried([said('a'), lost], [said('b')])).toEqual({ events: [said('a'), lost], attempts: 1 });
});
