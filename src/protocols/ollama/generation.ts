import { mediumPlaceholder } from '../../chat/messages.ts';
import { openedThinking } from '../../chat/reasoning.ts';
import type { ChatRequest } from '../../chat/request.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { inSlices } from '../../core/slices.ts';
import { atEnd } from '../../core/steps.ts';
import { refuseWithoutModel } from '../../core/text-service.ts';
import type { JsonObject } from '../../http/body.ts';
import type { Call, Headers, Reply } from '../../http/call.ts';
import { awaitFirstEvent, keepAliveMs } from '../../http/keep-alive.ts';
import { ndjsonHeaders } from '../../http/sse.ts';
import { write } from '../access.ts';
import { type DialectContext, withEngineNotices, withIgnored, withStartNotices } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { findMarks } from '../fill-marks.ts';
import { requestContextOf } from '../request-context.ts';
import { chatHeaders } from '../tools.ts';
import { type Completion, decodeChat, decodeCompletion, hasGap, type Request, readRequest } from './decode.ts';
import { chatShape, completionShape, encodeStream, encodeWhole, type ReplyFacts, timestamp } from './encode.ts';
import { jsonReply, ollamaRow, refusal, withBody } from './errors.ts';
import { type ChatFields, chatFields, generateFields } from './fields.ts';
import { loadedModel } from './models.ts';

export const generationEndpoints: readonly ModelEndpoint<DialectContext>[] = [
  ollamaRow(
    '/api/generate',
    'Answer a prompt; streams lines of JSON by default. An empty prompt loads the model.',
    withBody(answerGenerate),
    { fields: generateFields, response: 'generate', replayedAs: 'text' },
  ),
  ollamaRow(
    '/api/chat',
    'Answer a conversation, with tools and thinking; streams lines of JSON by default.',
    withBody(answerChat),
    { ...write('chat'), fields: chatFields, response: 'chat', replayedAs: 'chat' },
  ),
];

/** One request, and the form of its reply. */
interface Work {
  readonly call: Call;
  readonly request: Request<Pick<ChatFields, 'keep_alive' | 'stream'>>;
  readonly shape: typeof chatShape;
  readonly facts: ReplyFacts;
  readonly headers: Headers;
}

async function answerGenerate(sent: JsonObject, call: Call, context: DialectContext): Promise<Reply> {
  const request = readRequest(generateFields, sent, context);
  const { own } = request;
  const facts = factsOf(own.model, context);
  const work = { call, request, facts, shape: completionShape, headers: withIgnored({}, request.notices.ignored) };
  // An image alone is a prompt too.
  if (own.prompt === '' && own.images.length === 0) return answerLoad(work, context);
  const earlier = own.context.length === 0 ? '' : await context.text.detokenize(own.context, { renderSpecial: true });
  const gap = hasGap(own) ? await findMarks(context.text) : undefined;
  if (gap?.type === 'missing') {
    refuseWithoutModel(context.text.state());
    return refusal(400, `${facts.model} does not support insert`);
  }
  const completion = decodeCompletion(request, context, { earlier, marks: gap?.marks });
  call.watch?.decoded?.(completion.request);
  const prompt = async (): Promise<string> =>
    completion.type === 'plain' ? completion.request.prompt : renderedPrompt(completion.request, context);
  if (own._debug_render_only) return renderedOnly(work, await prompt());
  const requestContext = requestContextOf(call, own.genkey);
  const nextContext: ReplyFacts['context'] = async ({ reasoning, text }) => {
    const before = await prompt();
    const transcript = withoutPlaceholders(before, completion) + closedThinking(before, reasoning) + text;
    // The reply itself is complete: it must not fail for a field that few clients read.
    return context.text.tokenize(transcript, { addSpecial: false }).catch(() => []);
  };
  if (completion.type === 'chat') {
    const noted = await withChatHeaders(
      { ...work, facts: { ...facts, context: nextContext } },
      completion.request,
      context,
    );
    return reply(context.chat.reply(completion.request, requestContext), noted, context);
  }
  const events = context.text.generate(completion.request, requestContext);
  return reply(
    events,
    completion.returnsContext ? { ...work, facts: { ...facts, context: nextContext } } : work,
    context,
  );
}

/** Without a name the default model answers, under its own. */
function factsOf(requested: string, { now, modelName }: DialectContext): ReplyFacts {
  return { model: requested || modelName(), now, startedAt: now() };
}

async function renderedPrompt(request: ChatRequest, { chat }: DialectContext): Promise<string> {
  const { memory, prompt } = await chat.render(request);
  return memory + prompt;
}

/** The images of this request are gone by the next one, which may have its own. */
function withoutPlaceholders(prompt: string, completion: Completion): string {
  if (completion.type === 'plain') return prompt;
  const { media } = completion.request.conversation;
  return media.reduce((text, _, index) => text.replace(mediumPlaceholder(media, index), ''), prompt);
}

/** Thinking that the prompt has opened is closed, so that the text goes on as the model saw it. */
function closedThinking(prompt: string, reasoning: string): string {
  const tags = openedThinking(prompt);
  return tags ? reasoning + (tags.ends[0]?.text ?? '') : '';
}

async function answerChat(sent: JsonObject, call: Call, context: DialectContext): Promise<Reply> {
  const request = readRequest(chatFields, sent, context);
  const facts = factsOf(request.own.model, context);
  const work = { call, request, facts, shape: chatShape, headers: withIgnored({}, request.notices.ignored) };
  const chat = await inSlices(decodeChat(request, context), { signal: call.signal });
  call.watch?.decoded?.(chat);
  if (chat.conversation.messages.length === 0) return answerLoad(work, context);
  if (request.own._debug_render_only) return renderedOnly(work, await renderedPrompt(chat, context));
  const noted = await withChatHeaders(work, chat, context);
  return reply(context.chat.reply(chat, requestContextOf(call, request.own.genkey)), noted, context);
}

/** With the headers about what is known of a chat only when it has been read. */
async function withChatHeaders(work: Work, request: ChatRequest, { chat }: DialectContext): Promise<Work> {
  return { ...work, headers: await chatHeaders(work.request.notices, request, chat) };
}

async function reply(
  events: AsyncIterable<GenerationEvent>,
  { request, shape, facts, headers }: Work,
  context: DialectContext,
): Promise<Reply> {
  const { keep_alive: keptMs, stream } = request.own;
  const keepLoaded = (): void => {
    if (keptMs !== undefined) context.text.keepFor?.(keptMs);
  };
  if (stream) {
    const begun = await awaitFirstEvent(events, context.startTimer).catch((error: unknown) => {
      keepLoaded();
      throw error;
    });
    const lines = encodeStream(begun.events, shape, facts);
    const started = withStartNotices({ ...ndjsonHeaders, ...headers }, begun);
    // A space before the next line: clients of this dialect parse every line as JSON, also an empty one.
    const keepAlive = { milliseconds: keepAliveMs, filler: ' ', immediately: begun.first === undefined };
    return { status: 200, headers: started, stream: atEnd(lines, keepLoaded), keepAlive };
  }
  try {
    const { body, engineNotices } = await encodeWhole(events, shape, facts);
    return jsonReply(body, withEngineNotices(headers, engineNotices));
  } finally {
    keepLoaded();
  }
}

/** A request without a prompt only loads the model, or unloads it. Never a stream. */
async function answerLoad(work: Work, context: DialectContext): Promise<Reply> {
  const keptMs = work.request.own.keep_alive;
  if (keptMs !== 0) await loadedModel(context.text);
  if (keptMs !== undefined) context.text.keepFor?.(keptMs);
  return jsonReply({ ...emptyBody(work), done_reason: keptMs === 0 ? 'unload' : 'load' }, work.headers);
}

function renderedOnly(work: Work, prompt: string): Reply {
  return jsonReply({ ...emptyBody(work), _debug_info: { rendered_template: prompt } });
}

function emptyBody({ facts, shape }: Work): object {
  return { model: facts.model, created_at: timestamp(facts.now()), ...shape.whole('', '', []), done: true };
}
