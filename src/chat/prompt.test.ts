import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import { atOnce } from '../core/testing/at-once.ts';
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
  return atOnce(
    flatPrompt(conversation, tags, {
      continueAssistantTurn: rest.continueAssistantTurn ?? true,
      stop: rest.stop ?? [],
      ...rest,
    }),
  );
}

test('each turn stands between its tags, and the reply is opened', () => {
  expect(prompt([system, user, assistant, user]).prompt).toBe(
    '<bos><S>Be kind.</S><U>\nHi</U><A>Hello</A><U>\nHi</U><A!>',
  );
});

test('a last turn of the assistant is left open to be continued', () => {
  expect(prompt([user, assistant]).prompt).toBe('<bos><U>\nHi</U><A>Hello');
});

test('a last turn of the assistant is closed when the client does not want it continued', () => {
  expect(prompt([user, assistant], { continueAssistantTurn: false }).prompt).toBe('<bos><U>\nHi</U><A>Hello</A><A!>');
});

test('an unknown role has no tags', () => {
  expect(prompt([{ role: 'other', roleName: 'critic', content: text('Meh.') }]).prompt).toBe('<bos>Meh.<A!>');
});

test('pictures and sounds leave numbered words in the text, counted apart', () => {
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

describe('tools', () => {
  const call: Message = {
    role: 'assistant',
    content: [],
    toolCalls: [{ id: 'call_1', name: 'look', json: '{"at":"sky"}' }],
  };
  const result: Message = { role: 'tool', callId: 'call_1', content: text('blue') };

  test('calls and their results are told in words', () => {
    expect(prompt([user, call, result]).prompt).toBe(
      '<bos><U>\nHi</U><A>\n[Made a function call to look with arguments {"at":"sky"}]\n</A>' +
        '<T>\n[Received results of function call]\nblue</T><A!>',
    );
  });

  test('ids are told only where one turn made several calls', () => {
    const several: Message = { ...call, toolCalls: ['a', 'b'].map((id) => ({ id, name: 'look', json: '{}' })) };
    const shown = prompt([user, several, { ...result, callId: 'b' }]).prompt;
    expect(shown).toContain('[Made a function call a to look with arguments {}]');
    expect(shown).toContain('[Received results of function call b]');
  });

  test('a call is never continued as if it were text', () => {
    expect(prompt([user, call]).prompt).toMatch(/<\/A><A!>$/);
  });

  test('are listed in front of the memory, with the types of their properties', () => {
    const tools = [
      { name: 'look', description: 'Looks', parameters: { properties: { at: { type: 'string' }, how: {} } } },
      { name: 'wait', parameters: {} },
    ];
    expect(prompt([user], { tools, memory: 'Old.' }).memory).toBe(
      '<S>Available Tools:\n[{"name":"look","description":"Looks","parameters":{"at":"string","how":"any"}},' +
        '{"name":"wait","parameters":{}}]\n</S>Old.',
    );
  });

  test('a reply to a result stops before it writes another call, unless a tool is forced', () => {
    expect(prompt([user, call, result]).stop).toEqual(['<U>', '[Made a function call']);
    expect(prompt([user, call, result], { toolForced: true }).stop).toEqual(['<U>']);
  });
});

test('the start of the next turn of the user is a stop text, once', () => {
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

test('the first one counts, where it fits', async () => {
  expect(await tried([said('long')], [said('short')])).toEqual({ events: [said('long')], attempts: 1 });
});

test('one that is too long makes way for the next', async () => {
  expect(await tried([tooLong(30)], [tooLong(20)], [said('short')])).toEqual({ events: [said('short')], attempts: 3 });
});

test('where none fits, the last one says so', async () => {
  expect(await tried([tooLong(30)], [tooLong(20)])).toEqual({ events: [tooLong(20)], attempts: 2 });
});

test('no other failure is tried again', async () => {
  expect(await tried([said('a'), lost], [said('b')])).toEqual({ events: [said('a'), lost], attempts: 1 });
});
