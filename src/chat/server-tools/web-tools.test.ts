import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { ServerToolStep } from '../../core/server-tools.ts';
import type { PageText, SearchAnswer, WebSearch } from '../../core/web-search.ts';
import { builtInAdapters, type ChatAdapter } from '../adapters/adapter.ts';
import { chatService } from '../service.ts';
import { untimedTemplate } from '../testing/inline-template.ts';
import { chatRequest, scriptedText, weather } from '../testing/scripted-text.ts';
import type { HostedTools } from './hosted.ts';

const template = `{% if tools %}<tools>{{ tools | tojson }}</tools><tool_call>{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>
{% endfor %}<|im_start|>assistant
`;
const call = (name: string, args: object) => `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;
const search = call('web_search', { query: 'cats' });
const fetchPage = (url: string) => call('web_fetch', { url });
const context = { genkey: '', client: 'test', signal: new AbortController().signal };

const pages = [
  { title: 'Cats', url: 'https://cats.example/', description: 'On cats', content: 'Cats sleep all day.' },
  { title: 'Dogs', url: 'https://dogs.example/', description: 'On dogs', content: '' },
];

interface Answers {
  readonly find?: SearchAnswer | AppError;
  readonly text?: PageText;
}

function world(replies: readonly string[], { find = { pages }, text }: Answers = {}) {
  const script = scriptedText(replies);
  const asked: string[] = [];
  const web: WebSearch = {
    find: async (query, _, allows) => {
      asked.push(query);
      if (find instanceof AppError) throw find;
      return { ...find, pages: find.pages.filter(({ url }) => allows?.(new URL(url)) !== false) };
    },
    text: async (url) => {
      asked.push(url);
      return text ?? { url, title: 'A page', text: 'Its words.' };
    },
    page: async () => ({ problem: 'unused' }),
  };
  let ids = 0;
  const parts = {
    text: script.service,
    tags: (builtInAdapters.ChatML as ChatAdapter).tags,
    tagsWithoutThinking: undefined,
    templateText: template,
    template: async () => untimedTemplate(template),
    templateUse: { chats: true, tools: true, listedTools: false },
    serverVariables: {},
    now: () => new Date(0),
    newCallId: () => `call_${++ids}`,
    warn: () => undefined,
  };
  const startTimer = () => ({ cancel: () => undefined });
  const chat = chatService({ ...parts, serverTools: { web, turns: 3, now: () => new Date(0), startTimer } });
  const bare = chatService(parts);
  return { ...script, prompts: script.asked, asked, chat, bare };
}

const hosted = (own: Partial<HostedTools> = { search: { field: 'tools[0]' } }): HostedTools => ({
  sources: [],
  itemized: true,
  ...own,
});

async function run({ chat }: ReturnType<typeof world>, own: Parameters<typeof chatRequest>[1], question = 'Cats?') {
  const events: GenerationEvent[] = [];
  for await (const event of chat.reply(chatRequest(question, own), context)) events.push(event);
  const steps = events.flatMap((event): ServerToolStep[] => (event.type === 'server-tool' ? [event.step] : []));
  const text = events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
  const last = events.at(-1);
  return { events, steps, text, reason: last?.type === 'finish' ? last.reason : last };
}

const outcomes = (steps: readonly ServerToolStep[]) =>
  steps.flatMap((step) => (step.type === 'outcome' ? [step.outcome] : []));
const codes = (steps: readonly ServerToolStep[]) =>
  outcomes(steps).map((outcome) => (outcome.type === 'error' ? outcome.code : outcome.type));

describe('hosted web search', () => {
  test('reports the call, its pages and the citations of the answer', async () => {
    const here = world([`I look.${search}`, 'They sleep [1].']);
    const { steps, text, reason, events } = await run(here, { hosted: hosted() });
    expect(text).toBe('I look.They sleep [1].');
    expect(reason).toBe('stop');
    expect(steps.map(({ type }) => type)).toEqual(['call', 'outcome', 'citation']);
    expect(steps[0]).toMatchObject({ call: { kind: 'search', name: 'web_search', input: { query: 'cats' } } });
    expect(outcomes(steps)).toEqual([
      {
        type: 'sources',
        sources: [
          { url: 'https://cats.example/', title: 'Cats', text: 'Cats sleep all day.' },
          { url: 'https://dogs.example/', title: 'Dogs', text: 'On dogs' },
        ],
      },
    ]);
    expect(steps[2]).toMatchObject({ source: { url: 'https://cats.example/' }, length: 3 });
    expect(events.filter(({ type }) => type.startsWith('tool-'))).toEqual([]);
    expect(here.prompts[1]?.prompt).toContain('[1] Cats\nhttps://cats.example/\nCats sleep all day.');
  });

  test('citations may name pages of earlier turns, whose numbers go on', async () => {
    const sources = [{ url: 'https://old.example/', title: 'Old', text: 'Old words.' }];
    const here = world([search, 'See [1] and [2].']);
    const { steps } = await run(here, { hosted: hosted({ search: { field: '' }, sources }) });
    expect(here.prompts[1]?.prompt).toContain('[2] Cats');
    const cited = steps.flatMap((step) => (step.type === 'citation' ? [step.source.title] : []));
    expect(cited).toEqual(['Old', 'Cats']);
  });

  test('applies domain lists to the query and to the results', async () => {
    const here = world([search, 'Done.']);
    const { steps } = await run(here, { hosted: hosted({ search: { field: '', allowedDomains: ['dogs.example'] } }) });
    expect(here.asked).toEqual(['cats site:dogs.example']);
    expect(outcomes(steps)).toMatchObject([{ sources: [{ title: 'Dogs' }] }]);
    const blocked = world([search, 'Done.']);
    const own = { hosted: hosted({ search: { field: '', blockedDomains: ['dogs.example'] } }) };
    expect(outcomes((await run(blocked, own)).steps)).toMatchObject([{ sources: [{ title: 'Cats' }] }]);
  });

  test('errors are outcomes, and the model reads them', async () => {
    const busy = new AppError('busy', { retryAfterSeconds: 5 });
    const problem = { pages: [], problem: 'The search page is down.' };
    for (const [answers, query, code] of [
      [{ find: busy }, 'cats', 'too_many_requests'],
      [{ find: problem }, 'cats', 'unavailable'],
      [{}, '', 'invalid_tool_input'],
      [{}, 'x'.repeat(2000), 'query_too_long'],
    ] as const) {
      const here = world([call('web_search', { query }), 'Sorry.'], answers);
      const { steps, text } = await run(here, { hosted: hosted() });
      expect(codes(steps)).toEqual([code]);
      expect(text).toBe('Sorry.');
      expect(here.prompts[1]?.prompt).toContain('The tool failed: ');
    }
  });

  test('max_uses limits the searches of a reply', async () => {
    const here = world([search, search, 'Done.']);
    const { steps } = await run(here, { hosted: hosted({ search: { field: '', maxUses: 1 } }) });
    expect(codes(steps)).toEqual(['sources', 'max_uses_exceeded']);
    expect(here.asked).toHaveLength(1);
  });

  test('calls of the client end the reply, after those of the server ran', async () => {
    const here = world([search + call('get_weather', { city: 'Rome' })]);
    const { steps, events, reason } = await run(here, { hosted: hosted(), tools: [weather] });
    expect(codes(steps)).toEqual(['sources']);
    const started = events.filter((event) => event.type === 'tool-start');
    expect(started).toMatchObject([{ index: 0, name: 'get_weather' }]);
    expect(reason).toBe('tool-calls');
    expect(here.prompts[0]?.prompt).toContain('web_search');
  });

  test('is refused without a search page, also when tokens are counted', async () => {
    const { bare } = world([]);
    const request = chatRequest('Cats?', { hosted: hosted() });
    expect(() => bare.reply(request, context)).toThrow(/tools\[0\] is not possible: .*--websearch/);
    await expect(bare.countTokens(request)).rejects.toThrow(/--websearch/);
  });

  test('counts the tokens of its description', async () => {
    const { chat } = world([]);
    const [without, withSearch] = await Promise.all(
      [chatRequest('Cats?'), chatRequest('Cats?', { hosted: hosted() })].map((each) => chat.countTokens(each)),
    );
    expect(withSearch).toBeGreaterThan(without as number);
  });
});

describe('hosted web fetch', () => {
  const fetching = (own: Partial<NonNullable<HostedTools['fetch']>> = {}) => ({
    hosted: hosted({ search: { field: '' }, fetch: { field: 'tools[1]', ...own } }),
  });

  test('fetches addresses of the question and of results', async () => {
    const here = world([fetchPage('https://a.example/x'), search, fetchPage('https://cats.example'), 'Done.']);
    const { steps } = await run(here, fetching(), 'Read a.example/x');
    expect(codes(steps)).toEqual(['page', 'sources', 'page']);
    expect(outcomes(steps)[0]).toEqual({
      type: 'page',
      source: { url: 'https://a.example/x', title: 'A page', text: 'Its words.' },
      retrievedAt: '1970-01-01T00:00:00.000Z',
    });
  });

  test('refuses addresses that the model made up, and those outside of the domain lists', async () => {
    const made = world([`See https://made.up/${fetchPage('https://made.up/')}`, 'Sorry.']);
    expect(codes((await run(made, fetching())).steps)).toEqual(['url_not_in_prior_context']);
    expect(made.asked).toEqual([]);
    const other = world([fetchPage('https://a.example/'), 'Sorry.']);
    const own = fetching({ blockedDomains: ['a.example'] });
    expect(codes((await run(other, own, 'Read https://a.example/')).steps)).toEqual(['url_not_allowed']);
    expect(codes((await run(world([fetchPage('file:///etc/passwd'), '']), fetching())).steps)).toEqual([
      'url_not_allowed',
    ]);
    expect(codes((await run(world([fetchPage('no address'), '']), fetching())).steps)).toEqual(['invalid_tool_input']);
    const long = `https://a.example/${'x'.repeat(3000)}`;
    expect(codes((await run(world([fetchPage(long), '']), fetching())).steps)).toEqual(['url_too_long']);
  });

  test('reports why a page cannot be read', async () => {
    for (const [cause, code] of [
      ['unreachable', 'url_not_accessible'],
      ['too-large', 'content_too_large'],
      ['no-text', 'unsupported_content_type'],
      ['not-allowed', 'url_not_allowed'],
    ] as const) {
      const here = world([fetchPage('https://a.example/'), 'Sorry.'], { text: { problem: 'no', cause } });
      expect(codes((await run(here, fetching(), 'Read https://a.example/')).steps)).toEqual([code]);
    }
  });

  test('max_content_tokens cuts the text', async () => {
    const text = { url: 'https://a.example/', title: '', text: 'word '.repeat(500) };
    const here = world([fetchPage('https://a.example/'), 'Done.'], { text });
    const { steps } = await run(here, fetching({ maxContentTokens: 10 }), 'Read https://a.example/');
    expect(outcomes(steps)).toMatchObject([{ source: { text: 'word '.repeat(6) } }]);
  });

  test('cites quotes with their position in the page', async () => {
    const text = { url: 'https://a.example/', title: '', text: 'He said: cats sleep for most of the day.' };
    const here = world([fetchPage('https://a.example/'), 'It says "cats sleep for most of the day".'], { text });
    const { steps } = await run(here, fetching(), 'Read https://a.example/');
    const quote = { text: 'cats sleep for most of the day', start: 9 };
    expect(steps.at(-1)).toMatchObject({ type: 'citation', fetched: true, quote });
  });
});
