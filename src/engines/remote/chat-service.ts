import { mediumPlaceholder, wordsOf } from '../../chat/messages.ts';
import { repliesBy } from '../../chat/replies.ts';
import { type ChatRequest, refuseUnknownTool } from '../../chat/request.ts';
import { type ServerTools, wantsServerTools, withServerTools } from '../../chat/server-tools/loop.ts';
import type { ChatService } from '../../chat/service.ts';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { GenerateBy } from '../../core/text-engine.ts';
import type { Reservation, TextService } from '../../core/text-service.ts';
import { RemoteText } from './text.ts';
import type { RemoteTokens } from './tokens.ts';

export interface RemoteChatParts {
  /** The desk: what is answered elsewhere takes its turn here, and can be seen and stopped by its key. */
  readonly text: TextService;
  readonly tokens: RemoteTokens;
  /** Run here, for whoever answers. */
  readonly serverTools?: ServerTools | undefined;
}

/** Chats that an engine elsewhere answers: it has the template, the tools and the thinking of its model to itself. */
export function remoteChatService({ text, tokens, serverTools }: RemoteChatParts): ChatService {
  async function answer(
    request: ChatRequest,
    reservation: Reservation,
    _signal: AbortSignal,
    tell: (event: GenerationEvent) => void,
    room: () => Promise<void> | undefined,
  ): Promise<void> {
    refuseUnknownTool(request);
    for await (const event of reservation.generate(shownRequest(request), asChat(request))) {
      tell(event);
      await room();
    }
  }
  const replies: ChatService['replies'] = (request, ticket, count) =>
    repliesBy({ answer, text, serverTools }, request, ticket, count);
  return {
    replies,
    reply: (request, ticket) => replies(request, ticket, 1)[0] as AsyncIterable<GenerationEvent>,
    render: async (request, signal) => ({
      prompt: await tokens.render(request, signal),
      memory: '',
      stop: request.controls.stop,
      by: 'template',
      warnings: [],
    }),
    countTokens: async (request, signal) => {
      if (!serverTools || !wantsServerTools(request)) return tokens.count(request, signal);
      return tokens.count(await withServerTools(request, serverTools.servers, text.contextSize(), signal), signal);
    },
    // Whether it does is known when an engine was chosen, which then tells it.
    thinksAnyway: async () => false,
  };
}

const asChat =
  (request: ChatRequest): GenerateBy =>
  (engine, seed, sink) => {
    if (engine instanceof RemoteText) return engine.chat(request, seed, sink);
    sink.event({ type: 'error', error: new AppError('internal', { reason: 'this engine takes no messages' }) });
    return { abort: () => undefined };
  };

/** For those who watch: the last turn, which is what is new. */
function shownRequest({ controls, conversation, memory }: ChatRequest): GenerationRequest {
  const { messages, media } = conversation;
  const last = messages.at(-1);
  const words = last ? wordsOf(last.content) : '';
  const shown = last?.content.flatMap((part) => (part.type === 'medium' ? mediumPlaceholder(media, part.index) : []));
  return { ...controls, media, prompt: words + (shown ?? []).join(''), memory };
}
