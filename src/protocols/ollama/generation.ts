import { mediumPlaceholder } from '../../chat/messages.ts';
import { openedThinking } from '../../chat/reasoning.ts';
import type { ChatRequest } from '../../chat/request.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import { refuseWithoutModel } from '../../core/model-error.ts';
import { inSlices } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, type Headers, json, type Reply } from '../../http/call.ts';
import { awaitFirstEvent } from '../../http/keep-alive.ts';
import { ndjsonHeaders } from '../../http/sse.ts';
import { type DialectParts, noticeHeaders, withIgnored, withShortfall, withStartShortfall } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { findMarks } from '../fill-marks.ts';
import { ticketFor } from '../ticket.ts';
import { loosenedHeader } from '../tools.ts';
import { unheededThinking } from '../unheeded-thinking.ts';
import { type Completion, decodeChat, decodeCompletion, hasGap, type Request, readRequest } from './decode.ts';
import { encodeStream } from './encode.ts';
import { type ReplyFacts, timestamp } from './ending.ts';
import { jsonHeaders, ollamaFamily, refusal } from './errors.ts';
import {
  type ChatFields,
  chatFidelity,
  chatFields,
  type GenerateFields,
  generateFidelity,
  generateFields,
} from './fields.ts';
import { loadedModel } from './loading.ts';
import { withBody } from './request.ts';
import { chatShape, completionShape, type Shape } from './shape.ts';
import { encodeWhole } from './whole.ts';

export interface GenerationParts extends DialectParts {
  /**
   * Told at the end of each request that says so how long the model should stay loaded from then on: 0 asks to unload it
   * now, infinity never to.
   */
  readonly keepAlive?: (milliseconds: number) => void;
}

const guarded = { method: 'POST', match: 'ending', access: 'guarded', queued: true, family: ollamaFamily } as const;

export const generationEndpoints: readonly ModelEndpoint<GenerationParts>[] = [
  {
    ...guarded,
    path: '/api/generate',
    summary: 'Answer a prompt; streams lines of JSON unless told otherwise. An empty prompt loads the model.',
    handle: withBody(answerGenerate),
  },
  {
    ...guarded,
    path: '/api/chat',
    summary: 'Answer a conversation, with tools and thinking; streams lines of JSON unless told otherwise.',
    handle: withBody(answerChat),
  },
];

/** One request and how its reply is to look. */
interface Work {
  readonly call: Call;
  readonly sent: JsonObject;
  readonly request: Request<ChatFields | GenerateFields>;
  readonly shape: Shape;
  readonly fidelity: EndpointFidelity;
  readonly facts: ReplyFacts;
  /** What is known of a chat only when it has been read. */
  readonly unheeded?: readonly string[];
  readonly loosened?: Headers;
}

type Kind = Pick<Work, 'shape' | 'fidelity'>;

function workFor(
  sent: JsonObject,
  call: Call,
  request: Work['request'],
  { now, modelName }: GenerationParts,
  kind: Kind,
): Work {
  // Without a name the present model answers, under its own.
  const model = request.own.model || modelName();
  return { call, sent, request, facts: { model, now, startedAt: now() }, ...kind };
}

async function answerGenerate(sent: JsonObject, call: Call, parts: GenerationParts): Promise<Reply> {
  const request = readRequest(generateFields, sent, parts);
  const { own } = request;
  const work = workFor(sent, call, request, parts, { shape: completionShape, fidelity: generateFidelity });
  // A picture alone is a prompt too.
  if (own.prompt === '' && own.images.length === 0) return answerLoad(work, parts);
  const earlier = own.context.length === 0 ? '' : await parts.text.detokenize(own.context, { renderSpecial: true });
  const gap = hasGap(own) ? await findMarks(parts.text) : undefined;
  if (gap?.type === 'missing') return cannotInsert(work, parts);
  const completion = decodeCompletion(request, parts, { earlier, marks: gap?.marks });
  const prompt = async (): Promise<string> => {
    if (completion.type === 'plain') return completion.request.prompt;
    const rendered = await parts.chat.render(completion.request);
    return rendered.memory + rendered.prompt;
  };
  if (own._debug_render_only) return renderedOnly(work, await prompt());
  const ticket = ticketFor(call, own.genkey);
  if (completion.type === 'plain' && !completion.returnsContext) {
    return reply(parts.text.generate(completion.request, ticket), work, parts);
  }
  const context: ReplyFacts['context'] = async ({ reasoning, text }) => {
    const before = await prompt();
    const said = withoutPlaces(before, completion) + closedThinking(before, reasoning) + text;
    // The reply itself is complete: it must not fail for a field that few clients read.
    return parts.text.tokenize(said, { addSpecial: false }).catch(() => []);
  };
  const events =
    completion.type === 'plain'
      ? parts.text.generate(completion.request, ticket)
      : parts.chat.reply(completion.request, ticket);
  const noted = completion.type === 'chat' ? await withNotes(work, completion.request, parts) : work;
  return reply(events, { ...noted, facts: { ...work.facts, context } }, parts);
}

/** In the words of this dialect, unless there is no model that could be meant. */
function cannotInsert({ facts }: Work, { text }: GenerationParts): Reply {
  refuseWithoutModel(text.state());
  return refusal(400, `${facts.model} does not support insert`);
}

/** The pictures of this request are gone by the next one, which may put its own in their places. */
function withoutPlaces(prompt: string, completion: Completion): string {
  if (completion.type === 'plain') return prompt;
  const { media } = completion.request.conversation;
  return media.reduce((text, _, index) => text.replace(mediumPlaceholder(media, index), ''), prompt);
}

async function answerChat(sent: JsonObject, call: Call, parts: GenerationParts): Promise<Reply> {
  const asked = readRequest(chatFields, sent, parts);
  const work = workFor(sent, call, asked, parts, { shape: chatShape, fidelity: chatFidelity });
  const request = await inSlices(decodeChat(asked, parts), { signal: call.signal });
  if (request.conversation.messages.length === 0) return answerLoad(work, parts);
  if (asked.own._debug_render_only) {
    const { memory, prompt } = await parts.chat.render(request);
    return renderedOnly(work, memory + prompt);
  }
  const noted = await withNotes(work, request, parts);
  return reply(parts.chat.reply(request, ticketFor(call, asked.own.genkey)), noted, parts);
}

async function withNotes(work: Work, request: ChatRequest, { chat }: GenerationParts): Promise<Work> {
  const unheeded = await unheededThinking(work.request.settings, request, chat);
  return { ...work, unheeded, loosened: loosenedHeader(request) };
}

async function reply(events: AsyncIterable<GenerationEvent>, work: Work, parts: GenerationParts): Promise<Reply> {
  const { shape, facts } = work;
  const { keep_alive: keepAliveMs, stream } = work.request.own;
  const over = (): void => {
    if (keepAliveMs !== undefined) parts.keepAlive?.(keepAliveMs);
  };
  const notices = { ...withIgnored(notice(work), work.unheeded ?? []), ...work.loosened };
  if (stream) {
    const begun = await awaitFirstEvent(events, parts.startTimer).catch((error: unknown) => {
      over();
      throw error;
    });
    const lines = encodeStream(begun.events, shape, facts);
    const headers = withStartShortfall({ ...ndjsonHeaders, ...notices }, begun);
    // No filler between the lines: clients of this dialect read every line as JSON, an empty one as a broken one.
    return { status: 200, headers, stream: ending(lines, over) };
  }
  try {
    const { body, shortfall } = await encodeWhole(events, shape, facts);
    return json(body, 200, withShortfall({ ...jsonHeaders, ...notices }, shortfall));
  } finally {
    over();
  }
}

/** The stream as it is, and word of its end, however that comes. The steps are handed through: this is a hot path. */
function ending(stream: AsyncGenerator<string>, over: () => void): AsyncIterable<string> {
  let told = false;
  const end = (): void => {
    if (!told) over();
    told = true;
  };
  const next = async (): Promise<IteratorResult<string>> => {
    const step = await stream.next();
    if (step.done) end();
    return step;
  };
  const close = async (): Promise<IteratorResult<string>> => {
    end();
    return stream.return(undefined);
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: close }) };
}

/** A request without anything to answer only brings the model into memory, or out of it. Never a stream. */
async function answerLoad(work: Work, parts: GenerationParts): Promise<Reply> {
  const { facts, shape } = work;
  const keepAliveMs = work.request.own.keep_alive;
  if (keepAliveMs !== 0) await loadedModel(parts.text);
  if (keepAliveMs !== undefined) parts.keepAlive?.(keepAliveMs);
  const body = {
    model: facts.model,
    created_at: timestamp(parts.now()),
    ...shape.whole({ text: '', thinking: '', calls: [] }),
    done: true,
    done_reason: keepAliveMs === 0 ? 'unload' : 'load',
  };
  return json(body, 200, { ...jsonHeaders, ...notice(work) });
}

function renderedOnly({ facts, shape }: Work, prompt: string): Reply {
  const body = {
    model: facts.model,
    created_at: timestamp(facts.now()),
    ...shape.whole({ text: '', thinking: '', calls: [] }),
    done: true,
    _debug_info: { rendered_template: prompt },
  };
  return json(body, 200, jsonHeaders);
}

function notice({ sent, fidelity }: Work): Readonly<Record<string, string>> {
  return noticeHeaders(sent, fidelity);
}

/** Thoughts that the prompt has opened are closed, so that the text goes on as the model saw it. */
function closedThinking(prompt: string, reasoning: string): string {
  const tags = openedThinking(prompt);
  return tags ? reasoning + (tags.ends[0]?.text ?? '') : '';
}
