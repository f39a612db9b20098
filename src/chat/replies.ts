import { linkAbort } from '../core/abort.ts';
import { Channel } from '../core/channel.ts';
import { asAppError } from '../core/errors.ts';
import { abortedUnstarted, type Compaction, compactionText, emptyStart, type GenerationEvent } from '../core/events.ts';
import { fold } from '../core/fold.ts';
import type { RequestContext } from '../core/request-context.ts';
import { withReplySeed } from '../core/sampling-fields.ts';
import type { Reservation, TextService } from '../core/text-service.ts';
import type { CompactionStore } from './compaction.ts';
import { type ChatRequest, mayBeCompacted } from './request.ts';
import { type ServerTools, serverToolsFor } from './server-tools/offer.ts';
import { type SummaryModel, withSummaryModel } from './summary-model.ts';

type Emit = (event: GenerationEvent) => void;

interface RepliesDeps {
  readonly text: TextService;
  /** Generates one reply within a reservation, and emits its events. `room` is back-pressure: it resolves when there is room. */
  readonly answer: (
    request: ChatRequest,
    reservation: Reservation,
    signal: AbortSignal,
    emit: Emit,
    room: () => Promise<void> | undefined,
  ) => Promise<void>;
  readonly serverTools?: ServerTools | undefined;
  readonly countTokens: (request: ChatRequest, signal?: AbortSignal) => Promise<number>;
  readonly compactions?: CompactionStore | undefined;
  readonly summaryModel?: SummaryModel | undefined;
  readonly recall?: Recall | undefined;
}

/**
 * Adds what is remembered about the conversation, for chats whose model or preset remembers. What a reply had is kept for the turns
 * that follow; what is only counted is not.
 */
export type Recall = (request: ChatRequest, context: RequestContext, use: 'reply' | 'count') => Promise<ChatRequest>;

/** Several replies to one request, one after the other; other requests may run between them. */
export function repliesBy(
  { text, answer, serverTools: all, countTokens, compactions, summaryModel, recall }: RepliesDeps,
  request: ChatRequest,
  context: RequestContext,
  count: number,
): AsyncIterable<GenerationEvent>[] {
  const { watch } = context;
  const stop = new AbortController();
  const link = linkAbort(stop, context.signal);
  const { signal } = stop;
  const serverTools = serverToolsFor(request, all, context);
  const reservation = reserved();
  const answerOne = async (one: ChatRequest, emit: Emit, room: () => Promise<void> | undefined): Promise<void> => {
    if (!serverTools) return answer(one, reservation, signal, emit, room);
    const { answerWithTools } = await import('./server-tools/loop.ts');
    const state = text.state();
    return answerWithTools(one, {
      ...serverTools,
      answer: (turn, sink) => answer(turn, reservation, signal, sink, room),
      emit,
      rest: () => reservation.rest(),
      stopped: AbortSignal.any([signal, reservation.stopped]),
      inputs: state.type === 'ready' ? state.model.inputs : { image: false, audio: false },
      contextSize: text.contextSize(),
      fit: async (turn) => {
        const edited = turn.edit ? await turn.edit(turn, (each) => countTokens(each, signal)) : turn;
        // A block with a summary can only be at the start of a reply.
        return mayBeCompacted(request) ? compacted({ ...edited, compaction: undefined }) : { request: edited };
      },
    });
  };
  const channels = Array.from({ length: count }, () => new Channel<GenerationEvent>(() => stop.abort()));
  const compacted = async (one: ChatRequest, compacting = () => {}) => {
    const { compact } = await import('./compaction.ts');
    return compact(one, {
      contextSize: text.contextSize(),
      count: (each) => countTokens(each, signal),
      generate: (each) => fold(generated(each)),
      // Clients that ask for it keep their summaries themselves.
      store: request.controls.overflow === 'compact' ? compactions : undefined,
      owner: context.client,
      summaryModel: summaryModel && {
        name: summaryModel.name,
        use: (work) => {
          // Others may use the engine meanwhile, and it may be unloaded for the other model.
          reservation.rest();
          return withSummaryModel(
            summaryModel,
            { context, stopped: AbortSignal.any([signal, reservation.stopped]) },
            work,
          );
        },
      },
      compacting,
    });
  };
  const generated = (one: ChatRequest): AsyncIterable<GenerationEvent> => {
    const channel = new Channel<GenerationEvent>(() => undefined);
    void answer(
      one,
      reservation,
      signal,
      (event) => channel.push(event),
      () => channel.room(),
    )
      .catch((error: unknown) => channel.push({ type: 'error', error: asAppError(error) }))
      .finally(() => channel.end());
    return channel;
  };
  void (async () => {
    let shortened: ReturnType<typeof compacted> | undefined;
    let recalled: Promise<ChatRequest> | undefined;
    for (const [index, channel] of channels.entries()) {
      let begun = false;
      const emit = (event: GenerationEvent): void => {
        begun ||= event.type !== 'compacting';
        watch?.replyEvent?.(index, event);
        channel.push(event);
        // The reader may stop at it, which must not count as an abort.
        if (event.type === 'error') channel.end();
      };
      const seeded = (shorter: ChatRequest) => ({ ...shorter, controls: withReplySeed(shorter.controls, index) });
      const room = () => channel.room();
      const reply = async (): Promise<void> => {
        // All replies to one request have the same prompt.
        if (recall) recalled ??= recall(request, { ...context, signal }, 'reply');
        const withMemories = recalled ? await recalled : request;
        if (!mayBeCompacted(request)) return answerOne(seeded(withMemories), emit, room);
        shortened ??= compacted(withMemories, () => emit({ type: 'compacting' }));
        const { request: shorter, compaction } = await shortened;
        const one = seeded(shorter);
        if (!compaction) return answerOne(one, emit, room);
        if (request.compaction?.pause) return onlySummary(one, compaction, emit);
        const warns = request.compaction === undefined || compaction.fallback !== undefined;
        await answerOne(one, withReport(compaction, emit, warns), room);
      };
      await reply().catch((error: unknown) => {
        const aborted = signal.aborted || (error instanceof Error && error.name === 'AbortError');
        if (begun || !aborted) return emit({ type: 'error', error: asAppError(error) });
        // Aborted while the prompt was rendered: the same end as for a request that is aborted in the queue.
        emit(emptyStart(request.controls.maxTokens, request.controls.sampling.seed));
        emit(abortedUnstarted);
      });
      channel.end();
      if (index + 1 < count) reservation.pass();
    }
    reservation.release();
    link.release();
  })();
  return channels;

  function reserved(): Reservation {
    try {
      return text.reserve({ ...context, signal }, sharingTraits(request, serverTools !== undefined));
    } catch (error) {
      link.release();
      throw error;
    }
  }
}

/** Puts what was compacted into the start of the reply. A warning tells those whose headers were sent before. */
function withReport(compaction: Compaction, emit: Emit, warns: boolean): Emit {
  return (event) => {
    if (event.type !== 'start') return emit(event);
    emit({ ...event, compaction });
    if (warns) emit({ type: 'warning', code: 'compacted', text: compactionText(compaction) });
  };
}

/** A reply that ends after the summary. */
function onlySummary({ controls }: ChatRequest, compaction: Compaction, emit: Emit): void {
  emit({ ...emptyStart(controls.maxTokens, controls.sampling.seed), compaction });
  emit({ ...abortedUnstarted, reason: 'stop', cause: 'end-token' });
}

/** Before the prompt is known: a reply in a format or with tools will have a grammar. */
function sharingTraits({ controls, conversation, toolChoice, output }: ChatRequest, withServerTools: boolean) {
  const tools = withServerTools || (conversation.tools.length > 0 && toolChoice.type !== 'none');
  const grammar = controls.grammar ?? (output.type === 'text' ? undefined : { gbnf: '', retainState: false });
  return { ...controls, media: conversation.media, grammar, tools };
}
