import { Channel } from '../core/channel.ts';
import { asAppError } from '../core/errors.ts';
import { abortedUnstarted, emptyStart, type GenerationEvent } from '../core/events.ts';
import type { SharingTraits, Ticket } from '../core/request.ts';
import { withReplySeed } from '../core/sampling-fields.ts';
import type { Reservation, TextService } from '../core/text-service.ts';
import type { ChatRequest } from './request.ts';
import { answerWithTools, type ServerTools, wantsServerTools } from './server-tools/loop.ts';

/** Makes one answer within a place in the queue, and tells it as it comes. */
export type AnswerChat = (
  request: ChatRequest,
  reservation: Reservation,
  signal: AbortSignal,
  tell: (event: GenerationEvent) => void,
  /** For answers that could come faster than they are read; undefined while there is room for more. */
  room: () => Promise<void> | undefined,
) => Promise<void>;

export interface RepliesParts {
  readonly text: TextService;
  readonly answer: AnswerChat;
  /** Run here for chats that bring no tools of their own. */
  readonly serverTools: ServerTools | undefined;
}

/** Several answers to one request, one after the other; between them others have their turns. */
export function repliesBy(
  { text, answer, serverTools: all }: RepliesParts,
  request: ChatRequest,
  ticket: Ticket,
  count: number,
): AsyncIterable<GenerationEvent>[] {
  const stop = new AbortController();
  const signal = AbortSignal.any([ticket.signal, stop.signal]);
  const serverTools = wantsServerTools(request) ? all : undefined;
  const reservation = text.reserve({ ...ticket, signal }, sharingTraits(request, serverTools !== undefined));
  const answerLooped = (
    one: ChatRequest,
    tools: ServerTools,
    tell: (event: GenerationEvent) => void,
    room: () => Promise<void> | undefined,
  ): Promise<void> => {
    const state = text.state();
    return answerWithTools(one, {
      ...tools,
      answer: (turn, sink) => answer(turn, reservation, signal, sink, room),
      tell,
      rest: () => reservation.rest(),
      stopped: AbortSignal.any([signal, reservation.stopped]),
      senses: state.type === 'ready' ? state.model.inputs : { image: false, audio: false },
      contextSize: text.contextSize(),
    });
  };
  const channels = Array.from({ length: count }, () => new Channel<GenerationEvent>(() => stop.abort()));
  void (async () => {
    for (const [index, channel] of channels.entries()) {
      const one = { ...request, controls: withReplySeed(request.controls, index) };
      let begun = false;
      const tell = (event: GenerationEvent): void => {
        begun = true;
        channel.push(event);
      };
      const room = () => channel.room();
      const answered = serverTools
        ? answerLooped(one, serverTools, tell, room)
        : answer(one, reservation, signal, tell, room);
      await answered.catch((error: unknown) => {
        if (begun || !signal.aborted) return tell({ type: 'error', error: asAppError(error) });
        // Gone while the prompt was written: the end is that of a request that is gone before its turn.
        tell(emptyStart(one.controls.maxTokens, one.controls.sampling.seed));
        tell(abortedUnstarted);
      });
      channel.end();
      if (index + 1 < count) reservation.pass();
    }
    reservation.release();
  })();
  return channels;
}

/** Known before the prompt is: an answer in a format or with tools will be held to a grammar. */
function sharingTraits(
  { controls, conversation, toolChoice, output }: ChatRequest,
  withServerTools: boolean,
): SharingTraits {
  const tools = withServerTools || (conversation.tools.length > 0 && toolChoice.type !== 'none');
  const grammar = controls.grammar ?? (output.type === 'text' ? undefined : { gbnf: '', retainState: false });
  return { ...controls, media: conversation.media, grammar, tools };
}
