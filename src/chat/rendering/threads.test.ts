import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderAll } from '../lost-turns.ts';
import { type Message, text } from '../messages.ts';
import { type ChatTemplate, compileTemplate, type RenderedTemplate, type TemplateInput } from '../template.ts';
import { EndlessTemplateError } from '../template-limits.ts';
import { type FromThread, renderThread, type ToThread } from './thread.ts';
import { promptTemplate, type RenderThread, threadRenderer } from './threads.ts';

const source =
  '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}{% endfor %}{{ strftime_now("%Y") }}{{ mood }}{{ tools | length }}';

function input(messages: readonly Message[], own: Partial<TemplateInput> = {}): TemplateInput {
  return {
    conversation: { messages, media: [], tools: [] },
    continueAssistantTurn: true,
    serverVariables: { mood: 'calm' },
    requestVariables: {},
    reasoningEffort: undefined,
    now: new Date(2026, 1, 3),
    ...own,
  };
}

/** Runs the work of a thread in this one, with copied messages as for a real thread. */
function inProcess(): RenderThread & { readonly posted: ToThread[] } {
  const posted: ToThread[] = [];
  let told: (answer: FromThread | undefined) => void = () => undefined;
  const answer = new Promise<FromThread | undefined>((resolve) => {
    told = resolve;
  });
  const work = renderThread((message) => told(structuredClone(message)));
  return {
    posted,
    answer,
    post: (message) => {
      posted.push(message);
      void work(structuredClone(message));
    },
    end: () => told(undefined),
  };
}

/** A thread that answers when the test says so. */
function byHand() {
  const log: string[] = [];
  const threads: { readonly answer: (prompt: string) => void; readonly die: () => void }[] = [];
  const start = (): RenderThread => {
    const number = threads.length;
    log.push(`start ${number}`);
    let told: (answer: FromThread | undefined) => void = () => undefined;
    const answer = new Promise<FromThread | undefined>((resolve) => {
      told = resolve;
    });
    threads.push({
      answer: (prompt) => told({ type: 'rendered', rendered: { prompt, warnings: [] } }),
      die: () => told(undefined),
    });
    return {
      post: () => undefined,
      answer,
      end: () => {
        log.push(`end ${number}`);
        told(undefined);
      },
    };
  };
  let fire: () => void = () => undefined;
  const startTimer = (_: number, passed: () => void) => {
    fire = passed;
    return { cancel: () => undefined };
  };
  return { start, startTimer, threads, log, timePasses: () => fire() };
}

const never = () => ({ cancel: () => undefined });
const later = () => new Promise((resolve) => setImmediate(resolve));
const hi = input([{ role: 'user', content: text('Hi') }]);

const content = fc.string({ unit: 'grapheme', maxLength: 5 }).map(text);
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constantFrom('system' as const, 'user' as const), content }),
  fc.record({
    role: fc.constant('assistant' as const),
    content,
    toolCalls: fc.array(fc.record({ id: fc.string(), name: fc.string(), json: fc.json() }), { maxLength: 2 }),
  }),
);

describe('threadRenderer', () => {
  test('renders the same as on the main thread', async () => {
    const here = await compileTemplate(source);
    await fc.assert(
      fc.asyncProperty(fc.array(message, { maxLength: 20 }), async (messages) => {
        const elsewhere = threadRenderer(source, { start: inProcess, startTimer: never });
        const outcome = (work: () => unknown) =>
          Promise.resolve()
            .then(work)
            .catch((error: Error) => error.message);
        expect(await outcome(() => elsewhere(input(messages)))).toEqual(
          await outcome(() => renderAll(here, input(messages))),
        );
      }),
      { numRuns: 50 },
    );
  });

  test('sends a long conversation in pieces, complete and in order', async () => {
    const thread = inProcess();
    const messages = Array.from(
      { length: 1234 },
      (_, index): Message => ({ role: 'user', content: text(`${index} `) }),
    );
    const { prompt } = await threadRenderer(source, { start: () => thread, startTimer: never })(input(messages));
    expect(prompt).toBe(`${messages.map((_, index) => `<user>${index} `).join('')}2026calm0`);
    expect(thread.posted.map(({ type }) => type)).toEqual(['messages', 'messages', 'messages', 'render']);
  });

  test('does not send media, only their kinds', async () => {
    const thread = inProcess();
    const media = [{ kind: 'image' as const, base64: 'AAAA'.repeat(1000) }];
    const seen: Message = { role: 'user', content: [{ type: 'medium', index: 0 }] };
    const asked = { ...hi, conversation: { messages: [seen], media, tools: [] } };
    const { prompt } = await threadRenderer(source, { start: () => thread, startTimer: never })(asked);
    expect(prompt).toContain('(Attached Image 1)');
    expect(JSON.stringify(thread.posted)).not.toContain('AAAA');
  });

  test('returns the warnings of the template', async () => {
    const complaining = "{{ raise_exception('no') }}{% for m in messages %}{{ m.content }}{% endfor %}";
    const elsewhere = threadRenderer(complaining, { start: inProcess, startTimer: never });
    expect(await elsewhere(hi)).toEqual({ prompt: 'Hi', warnings: ['no'] });
  });

  test.each([
    ['{{ 1 | nosuchfilter }}', 'nosuchfilter'],
    ['{% if %}', 'Unexpected token'],
  ])('rejects with the error of the template: %s', async (broken, words) => {
    const elsewhere = threadRenderer(broken, { start: inProcess, startTimer: never });
    await expect(elsewhere(hi)).rejects.toThrow(words);
  });

  test('terminates an endless template after the time-out, and renders the next one', async () => {
    const { start, startTimer, threads, log, timePasses } = byHand();
    const elsewhere = threadRenderer(source, { start, startTimer, maxThreads: 1 });
    const first = elsewhere(hi);
    const refused = expect(first).rejects.toThrow('the template does not come to an end');
    await later();
    timePasses();
    await refused;
    const second = elsewhere(hi);
    await later();
    threads[1]?.answer('ok');
    expect((await second).prompt).toBe('ok');
    expect(log).toEqual(['start 0', 'end 0', 'end 0', 'start 1', 'end 1']);
  });

  test('rejects if a template runs out of memory', async () => {
    const { start, startTimer, threads } = byHand();
    const elsewhere = threadRenderer(source, { start, startTimer });
    const refused = expect(elsewhere(hi)).rejects.toThrow('the template needs too much memory');
    await later();
    threads[0]?.die();
    await refused;
  });

  test('an abort terminates the thread', async () => {
    const { start, startTimer, log } = byHand();
    const gone = new AbortController();
    const refused = expect(threadRenderer(source, { start, startTimer })(hi, gone.signal)).rejects.toThrow('gone');
    await later();
    gone.abort(new Error('gone'));
    await refused;
    expect(log.slice(0, 2)).toEqual(['start 0', 'end 0']);
  });

  test('limits concurrent threads; an aborted waiting request starts none', async () => {
    const { start, startTimer, threads, log } = byHand();
    const elsewhere = threadRenderer(source, { start, startTimer, maxThreads: 2 });
    const gone = new AbortController();
    const prompts = [elsewhere(hi), elsewhere(hi), elsewhere(hi, gone.signal), elsewhere(hi)];
    const left = expect(prompts[2]).rejects.toThrow('gone');
    await later();
    expect(threads).toHaveLength(2);
    gone.abort(new Error('gone'));
    threads[0]?.answer('one');
    await left;
    await later();
    expect(threads).toHaveLength(3);
    threads[1]?.answer('two');
    threads[2]?.answer('four');
    expect((await Promise.all([prompts[0], prompts[1], prompts[3]])).map((done) => done?.prompt)).toEqual([
      'one',
      'two',
      'four',
    ]);
    expect(log.filter((line) => line.startsWith('start'))).toHaveLength(3);
  });
});

const rendered = (prompt: string): RenderedTemplate => ({ prompt, warnings: [] });

function conversation(length: number): TemplateInput {
  // A template may leave out turns of the assistant.
  const message: Message = { role: 'assistant', content: text('a') };
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
  const template: ChatTemplate = (input) => {
    inline.push(input.conversation.messages.length);
    return render(input);
  };
  const prompt = promptTemplate(template, async (input) => {
    elsewhere.push(input.conversation.messages.length);
    return rendered('elsewhere');
  });
  return { ask: (length: number) => prompt(conversation(length)), prompt, inline, elsewhere };
}

describe('promptTemplate', () => {
  test('renders short conversations inline and long ones in a thread', async () => {
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

  test('renders many tools in a thread', async () => {
    const { prompt, inline, elsewhere } = world(() => rendered('here'));
    const tools = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        name: `tool_${index}`,
        description: 'x'.repeat(1000),
        parameters: { type: 'object' },
      }));
    const asked = conversation(1);
    const ask = (count: number) => prompt({ ...asked, conversation: { ...asked.conversation, tools: tools(count) } });
    expect(await ask(20)).toEqual(rendered('here'));
    expect(await ask(1000)).toEqual(rendered('elsewhere'));
    expect([inline, elsewhere]).toEqual([[1], [1]]);
  });

  test('after a time-out renders conversations of that length in a thread', async () => {
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

  test('rejects with any other error', async () => {
    const { ask, elsewhere } = world(() => {
      throw new Error('no such filter');
    });
    await expect(ask(1)).rejects.toThrow('no such filter');
    expect(elsewhere).toEqual([]);
  });
});
