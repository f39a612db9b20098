import { Channel } from '../core/channel.ts';
import { asAppError } from '../core/errors.ts';
import { abortedUnstarted, emptyStart, type GenerationEvent } from '../core/events.ts';
import { withReplySeed } from '../core/sampling-fields.ts';
import type { Reservation, TextService } from '../core/text-service.ts';
import type { Ticket } from '../core/ticket.ts';
import type { ChatRequest } from './request.ts';
import { answerWithTools } from './server-tools/loop.ts';
import { type ServerTools, serverToolsFor } from './server-tools/offer.ts';

type Emit = (event: GenerationEvent) => void;

interface RepliesParts {
  readonly text: TextService;
  /** Generates one reply within a reservation, and emits its events. `room` is back-pressure: it resolves when there is room. */
  readonly answer: (
    request: ChatRequest,
    reservation: Reservation,
    signal: AbortSignal,
    emit: Emit,
    room: () => Promise<void> | undefined,
  ) => Promise<void>;
  readonly serverTools: ServerTools | undefined;
}

/** Several replies to one request, one after the other; other requests may run between them. */
export function repliesBy(
  { text, answer, serverTools: all }: RepliesParts,
  request: ChatRequest,
  ticket: Ticket,
  count: number,
): AsyncIterable<GenerationEvent>[] {
  const { watch } = ticket;
  const stop = new AbortController();
  const signal = AbortSignal.any([ticket.signal, stop.signal]);
  const serverTools = serverToolsFor(request, all);
  const reservation = text.reserve({ ...ticket, signal }, sharingTraits(request, serverTools !== undefined));
  const answerOne = (one: ChatRequest, emit: Emit, room: () => Promise<void> | undefined): Promise<void> => {
    if (!serverTools) return answer(one, reservation, signal, emit, room);
    const state = text.state();
    return answerWithTools(one, {
      ...serverTools,
      answer: (turn, sink) => answer(turn, reservation, signal, sink, room),
      emit,
      rest: () => reservation.rest(),
      stopped: AbortSignal.any([signal, reservation.stopped]),
      inputs: state.type === 'ready' ? state.model.inputs : { image: false, audio: false },
      contextSize: text.contextSize(),
    });
  };
  const channels = Array.from({ length: count }, () => new Channel<GenerationEvent>(() => stop.abort()));
  void (async () => {
    for (const [index, channel] of channels.entries()) {
      const one = { ...request, controls: withReplySeed(request.controls, index) };
      let begun = false;
      const emit = (event: GenerationEvent): void => {
        begun = true;
        watch?.replyEvent?.(index, event);
        channel.push(event);
      };
      await answerOne(one, emit, () => channel.room()).catch((error: unknown) => {
        if (begun || !signal.aborted) return emit({ type: 'error', error: asAppError(error) });
        // Aborted while the prompt was rendered: the same end as for a request that is aborted in the queue.
        emit(emptyStart(one.controls.maxTokens, one.controls.sampling.seed));
        emit(abortedUnstarted);
      });
      channel.end();
      if (index + 1 < count) reservation.pass();
    }
    reservation.release();
  })();
  return channels;
}

/** Before the prompt is known: a reply in a format or with tools will have a grammar. */
function sharingTraits({ controls, conversation, toolChoice, output }: ChatRequest, withServerTools: boolean) {
  const tools = withServerTools || (conversation.tools.length > 0 && toolChoice.type !== 'none');
  const grammar = controls.grammar ?? (output.type === 'text' ? undefined : { gbnf: '', retainState: false });
  return { ...controls, media: conversation.media, grammar, tools };
}
