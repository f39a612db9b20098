import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { text } from '../chat/messages.ts';
import type { ChatRequest, OutputFormat } from '../chat/request.ts';
import { chatRequest } from '../chat/testing/scripted-text.ts';
import type { GenerationRequest } from '../core/request.ts';
import { differences } from '../inspector/difference.ts';
import type { ReplayDialect, ReplayTarget } from '../inspector/replay.ts';
import type { DialectServices } from '../protocols/dialect.ts';
import {
  callOf,
  dialectParts,
  finishEvent,
  scriptedChat,
  scriptedText,
  seeing,
  startEvent,
} from '../protocols/testing/doubles.ts';
import { type ChatAbilities, randomChat, randomText } from '../protocols/testing/random-requests.ts';
import type { ModelContext } from './model-context.ts';
import { replayDialects } from './replay-dialects.ts';

const script = [startEvent(), finishEvent()];
const context = {
  ...dialectParts({ text: scriptedText(script, { state: () => seeing() }).text, chat: scriptedChat(script).chat }),
  replacePlaceholders: (texts: object) => texts,
} as unknown as ModelContext & DialectServices;

const dialects = replayDialects(context);
const dialectOf = (name: string) =>
  dialects.find((one) => one.name === name) as ReplayDialect<ModelContext & DialectServices>;

/** What the dialect reads in the body that it writes for a request. */
async function readBack<Request>(
  target: ReplayTarget<ModelContext & DialectServices, Request>,
  request: Request,
  stream: boolean,
) {
  const defaults = target.defaults(context);
  const body = target.encode(request, { model: 'mini', stream, defaults, replies: 1 });
  let decoded: unknown;
  const endpoint = stream ? target.streamed : target.whole;
  const watch = {
    decoded: (made: unknown) => {
      decoded = made;
    },
  };
  const reply = await endpoint.handle(callOf(endpoint.path, body, { watch }), context);
  expect(reply.status, JSON.stringify(body)).toBe(200);
  return decoded;
}

test.each(
  dialects.flatMap(({ name, chat, text }) => [chat, text].flatMap((target) => (target ? [{ name, ...target }] : []))),
)(
  '$name: streams with `stream: true`, except for the native API, which has another path',
  ({ name, whole, streamed }) => {
    expect(streamed === whole).toBe(name !== 'native');
  },
);

const schema: OutputFormat = { type: 'schema', schema: { type: 'object', properties: { a: { type: 'string' } } } };
const all: ChatAbilities = { toolChoice: true, output: [{ type: 'text' }, { type: 'json' }, schema] };
const chats: Readonly<Record<string, ChatAbilities>> = {
  openai: all,
  responses: all,
  // It has no word for JSON of any form.
  messages: { toolChoice: true, output: [{ type: 'text' }, schema] },
  // The model always chooses by itself.
  ollama: { toolChoice: false, output: all.output },
};

test('replayDialects: has each dialect with all its paths', () => {
  expect(dialects.map(({ name, own }) => [name, Object.keys(own)])).toEqual([
    ['openai', ['/v1/chat/completions', '/chat/completions']],
    ['responses', ['/v1/responses', '/responses']],
    ['messages', ['/v1/messages', '/messages']],
    ['ollama', ['/api/chat', '/api/generate']],
    ['completions', ['/v1/completions', '/completions']],
    ['native', ['/api/v1/generate', '/api/latest/generate', '/api/extra/generate/stream']],
    ['llamacpp', ['/completion']],
  ]);
  const { whole, streamed } = dialectOf('native').text as ReplayTarget<
    ModelContext & DialectServices,
    GenerationRequest
  >;
  expect([whole.path, streamed.path]).toEqual(['/api/v1/generate', '/api/extra/generate/stream']);
});

const runs = { numRuns: 60 };

describe('request encoders', () => {
  test.each(Object.entries(chats))('%s: a chat is read back as it was', async (name, abilities) => {
    const { chat } = dialectOf(name);
    if (!chat) throw new Error('no chats');
    const random = randomChat(chat.defaults(context), abilities);
    await fc.assert(
      fc.asyncProperty(random, fc.boolean(), async (request, stream) => {
        expect(differences(request, await readBack(chat, request, stream))).toEqual([]);
      }),
      runs,
    );
  });

  test.each(['completions', 'native', 'ollama', 'llamacpp'])('%s: a text is read back as it was', async (name) => {
    const { text: target } = dialectOf(name);
    if (!target) throw new Error('no texts');
    await fc.assert(
      fc.asyncProperty(randomText(target.defaults(context)), fc.boolean(), async (request, stream) => {
        expect(differences(request, await readBack(target, request, stream))).toEqual([]);
      }),
      runs,
    );
  });

  const png = { kind: 'image', base64: 'iVBORw0KGgo=', format: 'image/png' } as const;

  test.each(['openai', 'responses', 'messages', 'ollama'])(
    '%s: a picture before its text is read back',
    async (name) => {
      const { chat } = dialectOf(name);
      if (!chat) throw new Error('no chats');
      const request = { ...chatWith(chat), conversation: withPicture };
      expect(differences(request, await readBack(chat, request, false))).toEqual([]);
    },
  );

  const withPicture: ChatRequest['conversation'] = {
    messages: [{ role: 'user', content: [{ type: 'medium', index: 0 }, ...text('What is it?')] }],
    media: [png],
    tools: [],
  };

  test.each([
    ['openai', { effort: 'low', budget: { type: 'share', share: 0.25 } }],
    ['openai', { effort: undefined, budget: { type: 'tokens', tokens: 9 } }],
    ['responses', { effort: 'none', budget: { type: 'share', share: 0 } }],
    ['responses', { effort: 'medium', budget: { type: 'tokens', tokens: 9 } }],
    ['messages', { effort: 'none', budget: { type: 'share', share: 0 } }],
    ['messages', { effort: 'high', budget: { type: 'share', share: 0.75 } }],
    ['messages', { effort: undefined, budget: { type: 'tokens', tokens: 9 }, enable_thinking: true }],
    ['ollama', { effort: 'none', budget: { type: 'share', share: 0 }, enable_thinking: false }],
    ['ollama', { effort: 'high', budget: { type: 'share', share: 0.75 }, enable_thinking: true }],
    ['ollama', { effort: 'low', budget: { type: 'share', share: 0.25 } }],
  ] as const)('%s: thinking %j is read back', async (name, { effort, budget, ...templateVariables }) => {
    const { chat } = dialectOf(name);
    if (!chat) throw new Error('no chats');
    const plain = chatWith(chat);
    const controls = { ...plain.controls, reasoning: budget };
    const request = { ...plain, reasoning: { effort, separate: true }, templateVariables, controls };
    expect(differences(request, await readBack(chat, request, false))).toEqual([]);
  });

  test('llamacpp: banned tokens and triggers of a grammar are read back', async () => {
    const { text: target } = dialectOf('llamacpp');
    if (!target) throw new Error('no texts');
    const request: GenerationRequest = {
      ...target.defaults(context),
      prompt: 'Once',
      memory: '',
      logitBias: [[5, 1]],
      bannedTokens: [7],
      grammar: { gbnf: 'root ::= "a"', retainState: false, triggers: [{ type: 'word', text: 'go' }] },
    };
    expect(differences(request, await readBack(target, request, false))).toEqual([]);
  });

  test('what a dialect has no words for is a difference', async () => {
    const { chat } = dialectOf('ollama');
    if (!chat) throw new Error('no chats');
    const request: ChatRequest = { ...chatWith(chat), parallelToolCalls: false, memory: 'Notes.' };
    expect(differences(request, await readBack(chat, request, false)).map(({ field }) => field)).toEqual([
      'parallelToolCalls',
      'memory',
    ]);
  });

  function chatWith({ defaults }: ReplayTarget<ModelContext & DialectServices, ChatRequest>): ChatRequest {
    return chatRequest('Hi', { controls: defaults(context) });
  }
});
