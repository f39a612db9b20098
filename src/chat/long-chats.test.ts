import { describe, expect, test } from 'vitest';
import { whole } from '../core/slices.ts';
import { chatAdapter } from './adapters/adapter.ts';
import { foldTurns, renderAll } from './lost-turns.ts';
import { joinContent, type Message, text } from './messages.ts';
import { flatPrompt } from './prompt.ts';
import type { ChatTemplate, TemplateInput } from './template.ts';

const { tags } = chatAdapter({ userStart: '<U>', assistantStart: '<A>', systemStart: '<S>' });

/** Messages that count their reads. */
function counted(length: number, make: (index: number) => Message) {
  let looks = 0;
  const watch = <Value extends object>(value: Value): Value =>
    new Proxy(value, {
      get: (target, name) => {
        looks++;
        return Reflect.get(target, name);
      },
    });
  return { messages: Array.from({ length }, (_, index) => watch(make(index))), looks: () => looks };
}

/** How much more work twice as many messages are. */
function growth(work: (messages: readonly Message[]) => void, make: (index: number) => Message): number {
  const [once, twice] = [2000, 4000].map((length) => {
    const { messages, looks } = counted(length, make);
    work(messages);
    return looks();
  });
  return (twice ?? 0) / (once ?? 1);
}

const alternating = (index: number): Message => ({ role: index % 2 ? 'assistant' : 'user', content: text('a') });
const withTools = (index: number): Message =>
  index % 2
    ? { role: 'tool', content: text('r'), callId: `c${index}` }
    : { role: 'assistant', content: [], toolCalls: [{ id: `c${index}`, name: 'f', json: '{}' }] };
const withSystem = (index: number): Message => ({ role: index % 2 ? 'system' : 'user', content: text(`<${index}>`) });

const input = (messages: readonly Message[]): TemplateInput => ({
  conversation: { messages, media: [], tools: [] },
  continueAssistantTurn: true,
  serverVariables: {},
  requestVariables: {},
  reasoningEffort: undefined,
  now: new Date(0),
});

const said = (message: Message): string =>
  message.content.map((part) => (part.type === 'text' ? part.text : '')).join('');

/** Templates of ours, so that only our own part of the work is counted. */
const showsAll: ChatTemplate = ({ conversation }) => ({
  prompt: conversation.messages.map(said).join(''),
  warnings: [],
});
const losesSystem: ChatTemplate = ({ conversation }) => {
  const shown = conversation.messages.filter(({ role }) => role !== 'system');
  return { prompt: shown.map(said).join(''), warnings: [] };
};

describe('linear time in the number of messages', () => {
  const flat = (messages: readonly Message[]) =>
    void whole(flatPrompt({ messages, media: [], tools: [] }, tags, { continueAssistantTurn: true, stop: [] }));

  test.each([
    ['alternating', alternating],
    ['tool calls and results', withTools],
    ['system turns', withSystem],
  ])('flatPrompt: %s', (_, make) => expect(growth(flat, make)).toBeCloseTo(2, 1));

  test.each([
    ['a template that shows all', showsAll],
    ['a template that loses the system', losesSystem],
  ])('renderAll: %s', (_, template) => {
    expect(growth((messages) => void renderAll(template, input(messages)), withSystem)).toBeCloseTo(2, 1);
  });

  test('foldTurns', () => {
    const fold = (messages: readonly Message[]) => {
      const places = new Set(messages.map((_, index) => index).filter((index) => index % 2 === 1));
      foldTurns({ messages, media: [], tools: [] }, places);
    };
    expect(growth(fold, withSystem)).toBeCloseTo(2, 1);
  });
});

describe('a chat of very many messages', () => {
  const many = 40_000;

  test('flatPrompt: renders it', () => {
    const messages = Array.from({ length: many }, (_, index) => alternating(index));
    const { prompt } = whole(
      flatPrompt({ messages, media: [], tools: [] }, tags, { continueAssistantTurn: false, stop: [] }),
    );
    expect(prompt).toBe(`${'<U>a<A>a'.repeat(many / 2)}<A>`);
  });

  test('renderAll: loses no system turn', () => {
    const messages = Array.from({ length: many }, (_, index) => withSystem(index));
    expect(renderAll(showsAll, input(messages)).warnings).toEqual([]);
    const { prompt } = renderAll(losesSystem, input(messages));
    expect(prompt.match(/<\d+>/g)).toHaveLength(many);
  });

  test('joinContent: joins it', () => {
    const joined = joinContent(
      Array.from({ length: many }, () => text('a')),
      '\n',
    );
    expect(joined).toEqual(text(Array(many).fill('a').join('\n')));
  });
});
