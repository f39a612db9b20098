import { type AppError, asAppError } from '../../core/errors.ts';
import { abortedUnstarted, type GenerationEvent } from '../../core/events.ts';
import { fold, type Generation } from '../../core/fold.ts';
import type { StartTimer } from '../../core/timers.ts';
import type { Call, Headers, Reply } from '../../http/call.ts';
import { paddedReply, requestsPadding } from '../../http/keep-alive.ts';
import { commentFrame, dataFrame } from '../../http/sse.ts';
import { type DialectContext, mergedEngineNotices, streamReply, withEngineNotices } from '../dialect.ts';
import { jsonText } from '../endpoint.ts';
import { mergedReplies } from '../generate-all.ts';
import { alignedLogprobs } from '../logprob-alignment.ts';
import type { CallContext } from '../request-context.ts';
import { keptAfter } from '../ttl.ts';
import { type ChunkShape, type Ending, encodeFigures, type newEnvelope } from './encode.ts';
import { errorBody, locate } from './errors.ts';

/** Writes the chunks of one reply: the frames that an event becomes, or nothing. */
export type ChoiceWriter = (event: Exclude<GenerationEvent, { type: 'error' }>) => string;

/** How a request is answered. Chats and completions differ in nothing else. */
interface AnswerShape extends Pick<ChunkShape, 'includeUsage' | 'timingsPerToken' | 'reportsProgress'> {
  readonly call: Call;
  readonly requestContext: CallContext;
  readonly headers: Headers;
  readonly envelope: ReturnType<typeof newEnvelope> & { readonly service_tier?: string };
  readonly stream: boolean;
  /** How long the model stays loaded afterwards, in milliseconds. */
  readonly ttl: number | undefined;
  readonly repliesPerPrompt: number;
  /** The field that is at fault when the prompt is too long. */
  readonly promptField: string;
  readonly offersTools: boolean;
  readonly choice: (shape: ChunkShape) => ChoiceWriter;
  readonly whole: (generations: readonly Generation[]) => object;
}

type Replies = readonly AsyncIterable<GenerationEvent>[];

/** Large enough that a buffering proxy forwards it. */
const paddedFrame = 2048;

export function answer(events: Replies, shape: AnswerShape, { text, startTimer, now }: DialectContext): Promise<Reply> {
  const replies = events.map((one) => keptAfter(one, shape.ttl, text));
  const { call, requestContext, headers, stream, offersTools, promptField } = shape;
  const located = (error: unknown): never => {
    throw locate(asAppError(error), promptField);
  };
  if (!stream) {
    const encoded = collectAll(replies)
      .catch(located)
      .then((generations) => ({
        body: JSON.stringify({ ...shape.envelope, ...shape.whole(generations) }),
        headers: withEngineNotices(headers, mergedEngineNotices(generations)),
      }));
    return wholeReply(encoded, { padded: requestsPadding(call), headers, startTimer });
  }
  const [first, ...rest] = replies as [Replies[number], ...Replies];
  return streamReply(first, (opened) => encodeStream([opened, ...rest], shape, now), {
    headers,
    filler: commentFrame('keepalive', offersTools ? paddedFrame : 0),
    requestContext,
    startTimer,
  }).catch(located);
}

/** A reply that is not streamed: JSON, unless its own headers say otherwise. `padded` sends white space until it is ready. */
export async function wholeReply(
  encoded: Promise<{ readonly body: string; readonly headers: Headers }>,
  { padded, headers, startTimer }: { padded: boolean; headers: Headers; startTimer: StartTimer },
): Promise<Reply> {
  if (padded) {
    const text = encoded.then(({ body }) => body);
    const reply = await paddedReply(text, (error) => JSON.stringify(errorBody(asAppError(error))), startTimer);
    return { ...reply, headers: { ...reply.headers, ...headers } };
  }
  const { body, headers: late } = await encoded;
  return jsonText(body, { ...headers, ...late });
}

/** All replies, or the first failure; then the other replies are stopped. */
async function collectAll(replies: Replies): Promise<readonly Generation[]> {
  try {
    return await Promise.all(replies.map((events) => fold(aligned(events))));
  } catch (error) {
    await Promise.all(replies.map((events) => events[Symbol.asyncIterator]().return?.()));
    throw error;
  }
}

/** Pieces without text only carry logprobs, which belong to the text of another piece. */
async function* aligned(events: AsyncIterable<GenerationEvent>): AsyncGenerator<GenerationEvent> {
  const spoken = alignedLogprobs();
  for await (const event of events) {
    if (event.type !== 'text-delta' && event.type !== 'reasoning-delta') {
      yield event;
      continue;
    }
    const logprobs = spoken(event);
    if (event.text !== '') yield logprobs ? { ...event, logprobs } : event;
  }
}

const done = dataFrame('[DONE]');

/** For a reply whose events end without a finish: clients need an end. A copy, as no event of an engine may be equal to it. */
const abandoned = { ...abortedUnstarted };

/** The replies as they arrive, then the usage if it was requested, and the frame that ends every stream. */
async function* encodeStream(replies: Replies, shape: AnswerShape, now: () => number): AsyncGenerator<string> {
  const { envelope, includeUsage, timingsPerToken, reportsProgress, promptField } = shape;
  const failure = (error: AppError): string => dataFrame(JSON.stringify(errorBody(locate(error, promptField)))) + done;
  const head = `${JSON.stringify(envelope).slice(0, -1)},`;
  const delivery = { head, includeUsage, timingsPerToken, reportsProgress, now };
  const writers = replies.map((_, index) => shape.choice({ ...delivery, index }));
  const endings: Ending[] = replies.map(() => abandoned);
  try {
    for await (const [index, event] of mergedReplies(replies)) {
      if (event.type === 'error') {
        yield failure(event.error);
        return;
      }
      if (event.type === 'finish') endings[index] = event;
      const frames = writers[index]?.(event) ?? '';
      if (frames !== '') yield frames;
    }
  } catch (error) {
    yield failure(asAppError(error));
    return;
  }
  for (const [index, write] of writers.entries()) if (endings[index] === abandoned) yield write(abandoned);
  if (includeUsage) {
    const figures = JSON.stringify(encodeFigures(endings, shape.repliesPerPrompt)).slice(1);
    yield dataFrame(`${head}"choices":[],${figures}`);
  }
  yield done;
}
