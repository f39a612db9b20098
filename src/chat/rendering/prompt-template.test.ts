import { describe, expect, test } from 'vitest';
import { EndlessTemplateError } from '../endless-template.ts';
import { type Message, text } from '../messages.ts';
import type { ChatTemplate, RenderedTemplate, TemplateInput } from '../template.ts';
import { promptTemplate } from './prompt-template.ts';

const rendered = (prompt: string): RenderedTemplate => ({ prompt, warnings: [] });

function conversation(length: number): TemplateInput {
  const message: Message = { role: 'user', content: text('a') };
  return {
    conversation: { messages: Array.from({ length }, () => message), media: [], tools: [] },
    continueAssistantTurn: true,
    serverVariables: {},
    requestVariables: {},
    reasoningEffort: undefined,
    now: new Date(0),
  };
}

/** Notes which conversations went where, by their length. */
function world(render: (input: TemplateInput) => RenderedTemplate) {
  const inline: number[] = [];
  const elsewhere: number[] = [];
  const template: ChatTemplate = {
    render: (input) => {
      inline.push(input.conversation.messages.length);
      return render(input);
    },
  };
  const prompt = promptTemplate(template, async (input) => {
    elsewhere.push(input.conversation.messages.length);
    return rendered('elsewhere');
  });
  return { ask: (length: number) => prompt.render(conversation(length)), inline, elsewhere };
}

describe('a template', () => {
  test('renders a short conversation at once and a long one elsewhere', async () => {
    const { ask, inline, elsewhere } = world(() => rendered('here'));
    expect([await ask(1), await ask(300), await ask(301), await ask(300_000)]).toEqual([
      rendered('here'),
      rendered('here'),
      rendered('elsewhere'),
      rendered('elsewhere'),
    ]);
    expect([inline, elsewhere]).toEqual([
      [1, 300],
      [301, 300_000],
    ]);
  });

  test('that takes too long gets more time elsewhere, and is not tried here again with as much', async () => {
    const { ask, inline, elsewhere } = world(({ conversation: { messages } }) => {
      if (messages.length >= 10) throw new EndlessTemplateError();
      return rendered('here');
    });
    expect(await ask(20)).toEqual(rendered('elsewhere'));
    expect(await ask(20)).toEqual(rendered('elsewhere'));
    expect(await ask(10)).toEqual(rendered('elsewhere'));
    expect(await ask(9)).toEqual(rendered('here'));
    expect([inline, elsewhere]).toEqual([
      [20, 10, 9],
      [20, 20, 10],
    ]);
  });

  test('that fails in any other way fails here', async () => {
    const { ask, elsewhere } = world(() => {
      throw new Error('no such filter');
    });
    await expect(ask(1)).rejects.toThrow('no such filter');
    expect(elsewhere).toEqual([]);
  });
});
