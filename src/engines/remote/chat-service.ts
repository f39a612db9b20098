import { mediumPlaceholder, plainText } from '../../chat/messages.ts';
import { repliesBy } from '../../chat/replies.ts';
import { type ChatRequest, refuseUnknownTool } from '../../chat/request.ts';
import { withServerTools } from '../../chat/server-tools/offer.ts';
import type { ChatService } from '../../chat/service.ts';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { randomHex } from '../../core/ids.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { GenerateBy } from '../../core/text-service.ts';
import type { RemoteText } from './text.ts';
import type { RemoteTokens } from './tokens.ts';

type ReplyDeps = Parameters<typeof repliesBy>[0];
type RemoteChatDeps = Pick<ReplyDeps, 'text' | 'serverTools' | 'compactions' | 'summaryModel' | 'recall'> & {
  readonly tokens: RemoteTokens;
};

/** Chat service for remote backends, which apply the template and parse tool calls and reasoning themselves. */
export function remoteChatService({ text, tokens, serverTools, ...summaries }: RemoteChatDeps): ChatService {
  const answer: ReplyDeps['answer'] = async (request, reservation, _signal, emit, drained) => {
    refuseUnknownTool(request);
    for await (const event of reservation.generate(consoleSummary(request), asChat(request))) {
      emit(event);
      await drained();
    }
  };
  const replies: ChatService['replies'] = (request, context, count) => {
    const counting: ReplyDeps['countTokens'] = (each, signal) => countPrompt(each, signal, context);
    return repliesBy({ answer, text, serverTools, countTokens: counting, ...summaries }, request, context, count);
  };
  /** Of a request that has what is remembered. */
  const countPrompt: ChatService['countTokens'] = async (request, signal, context) =>
    tokens.count(await withServerTools(request, serverTools, text.contextSize(), { signal, context }), signal);
  const { recall } = summaries;
  return {
    replies,
    reply: (request, context) => replies(request, context, 1)[0] as AsyncIterable<GenerationEvent>,
    render: async (request, signal) => ({
      prompt: await tokens.render(request, signal),
      memory: '',
      stop: request.controls.stop,
      by: 'template',
      warnings: [],
    }),
    countTokens: async (request, signal, context) =>
      countPrompt(context && recall ? await recall(request, context, 'count') : request, signal, context),
    // Known only when a backend is selected, which then reports it.
    thinksAnyway: async () => false,
  };
}

const asChat =
  (request: ChatRequest): GenerateBy =>
  (engine, seed, sink) => {
    if ('chat' in engine) return (engine as Pick<RemoteText, 'chat'>).chat(request, seed, sink);
    sink.event({ type: 'error', error: new AppError('internal', { reason: 'this engine takes no messages' }) });
    return { abort: () => undefined };
  };

/** Summary for the console: the last message. */
function consoleSummary({ controls, conversation, memory }: ChatRequest): GenerationRequest {
  const { messages, media } = conversation;
  const last = messages.at(-1);
  const lastText = last ? plainText(last.content) : '';
  const mediaMarkers = last?.content.flatMap((part) =>
    part.type === 'medium' ? mediumPlaceholder(media, part.index) : [],
  );
  return { ...controls, media, prompt: lastText + (mediaMarkers ?? []).join(''), memory };
}

/** For tool calls without an id. */
export function randomCallId(): string {
  return `call_${randomHex(12)}`;
}
