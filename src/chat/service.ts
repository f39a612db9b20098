import type { GenerationEvent } from '../core/events.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { RequestContext } from '../core/request-context.ts';
import { inSlices } from '../core/slices.ts';
import type { Reservation, TextService } from '../core/text-service.ts';
import type { ChatTags } from './adapters/adapter.ts';
import type { CompactionStore } from './compaction.ts';
import { firstThatFits, type Step, withEarlier } from './generation-steps.ts';
import { withSystem } from './messages.ts';
import { type ChatPrompt, chatPrompt, type TemplateUse, usesTemplate } from './prompt.ts';
import { ReasoningSplitter, type ReplyPart, thinkingTags } from './reasoning.ts';
import type { PromptTemplate } from './rendering/threads.ts';
import { type Recall, repliesBy } from './replies.ts';
import { answerGrammar, callableTools, replyGrammar } from './reply-grammar.ts';
import { type ChatRequest, refusesThinking, refuseUnknownTool } from './request.ts';
import { type ServerTools, withServerTools } from './server-tools/offer.ts';
import type { SummaryModel } from './summary-model.ts';
import { CallBuffer, chooseTool, forcedCallRequests, forcedCalls, type Render } from './tool-steps.ts';
import { callMarkers, loosenedText, loosenedTools } from './tools/call-grammar.ts';
import { type ToolReader, toolFormatOf } from './tools/formats.ts';

/** Bounds the console output of clients that invent tool names. */
const maxToolWarnings = 200;

export interface ChatDeps {
  readonly text: TextService;
  readonly tags: ChatTags;
  /** The tags for a reply without thinking; undefined where the format has no such form. */
  readonly tagsWithoutThinking: ChatTags | undefined;
  /** The text of the model's template, or of the one that replaces it. */
  readonly templateText: string | undefined;
  /** Compiled on first use. */
  readonly template: () => Promise<PromptTemplate | undefined>;
  readonly templateUse: TemplateUse;
  /** For conversations that have none; may be empty. */
  readonly systemPrompt?: string;
  readonly serverVariables: Readonly<Record<string, unknown>>;
  readonly now: () => Date;
  readonly newCallId: () => string;
  readonly warn: (text: string) => void;
  readonly serverTools?: ServerTools | undefined;
  readonly compactions?: CompactionStore | undefined;
  readonly summaryModel?: SummaryModel | undefined;
  readonly recall?: Recall | undefined;
}

export interface ChatService {
  /** Admits the request, or throws `busy` at once; returns the events of the generation. */
  reply(request: ChatRequest, context: RequestContext): AsyncIterable<GenerationEvent>;
  /** Several replies to one request, one after the other; other requests may run between them. */
  replies(request: ChatRequest, context: RequestContext, count: number): AsyncIterable<GenerationEvent>[];
  /** The prompt that the model would see. */
  render(request: ChatRequest, signal?: AbortSignal): Promise<ChatPrompt>;
  /** `context`: of a request, whose memories and tools are counted, too. */
  countTokens(request: ChatRequest, signal?: AbortSignal, context?: RequestContext): Promise<number>;
  /** Whether a reply without thinking was requested and the prompt cannot express it. */
  thinksAnyway(request: ChatRequest): Promise<boolean>;
  /** The chat template, where it is not that of the model. */
  readonly templateText?: string | undefined;
}

/** Chats on top of plain generation: renders the conversation, and parses the text into thinking, answer and calls. */
export function chatService(deps: ChatDeps): ChatService {
  const { text } = deps;
  const warned = new Set<string>();
  /** As if the format of calls were not known. */
  const byFlags: TemplateUse = { ...deps.templateUse, listedTools: false };

  async function render(
    request: ChatRequest,
    signal?: AbortSignal,
    templateUse = deps.templateUse,
  ): Promise<ChatPrompt> {
    const { toolChoice } = request;
    const conversation = withSystem(request.conversation, deps.systemPrompt ?? '');
    const tools = toolChoice.type === 'none' && !toolChoice.listed ? [] : conversation.tools;
    return chatPrompt(
      { ...conversation, tools },
      {
        tags: deps.tags,
        silentTags: isSilent(request) ? deps.tagsWithoutThinking : undefined,
        template: await deps.template(),
        templateUse,
        continueAssistantTurn: request.continueAssistantTurn,
        stop: request.controls.stop,
        memory: request.memory,
        toolForced: toolChoice.type === 'required' || toolChoice.type === 'named',
        serverVariables: deps.serverVariables,
        requestVariables: request.templateVariables,
        reasoningEffort: request.reasoning.effort,
        now: deps.now(),
        ...(signal ? { signal } : {}),
      },
    );
  }

  const isSilent = (request: ChatRequest): boolean => refusesThinking(request, deps.serverVariables);

  async function thinksAnyway(request: ChatRequest): Promise<boolean> {
    if (!isSilent(request) || deps.tagsWithoutThinking) return false;
    const conversation = { ...request.conversation, tools: callableTools(request) };
    return !usesTemplate(conversation, deps.templateUse) || (await deps.template()) === undefined;
  }

  async function answer(
    request: ChatRequest,
    reservation: Reservation,
    signal: AbortSignal,
    emit: (event: GenerationEvent) => void,
  ) {
    const earlier: Step[] = [];
    const sink = (event: GenerationEvent) => emit(withEarlier(event, earlier));
    const offered = request.toolChoice.type === 'none' ? [] : request.conversation.tools;
    refuseUnknownTool(request);
    await warnOfLoosened(request, signal);
    const first = await render(request, signal);
    if (offered.length === 0 || deps.templateUse.tools) return void (await write(first));
    const inFormat = first.by === 'template';
    if (inFormat && (await write(first, 'calls-at-once'))) return;
    if (await answerByCall()) return;
    await write(inFormat ? await render(request, signal, byFlags) : first);

    /** In up to two generations for the call alone. False if the model decides not to call a tool. */
    async function answerByCall(): Promise<boolean> {
      // The question lists the tools: the prompt has no other list of them.
      const question: Render = (conversation) =>
        render(
          { ...request, conversation, toolChoice: { type: 'none' }, continueAssistantTurn: false },
          signal,
          byFlags,
        );
      const { tool, steps } = await chooseTool(request, question, reservation);
      earlier.push(...steps);
      if (!tool) return false;
      const requests = forcedCallRequests(request, tool, question);
      const events = firstThatFits(requests.map((made) => async () => reservation.generate(await made())));
      for (const event of await forcedCalls(events, tool, deps.newCallId)) sink(event);
      return true;
    }

    /**
     * The reply to this prompt. With `calls-at-once` each call is sent when the reply is complete, and the result is false, without
     * any event, if the tools make the prompt too long or a forced call cannot be expressed: calls by themselves need shorter prompts.
     */
    async function write(rendered: ChatPrompt, mode?: 'calls-at-once'): Promise<boolean> {
      const { by, prompt, memory, stop, warnings } = rendered;
      for (const warning of warnings) deps.warn(warning);
      const withTools = offered.length > 0 && by === 'template';
      const format = withTools ? toolFormatOf(deps.templateText) : undefined;
      const reader = new ReplyReader(
        new ReasoningSplitter({ prompt, encapsulate: request.reasoning.separate }),
        format?.create({ tools: offered, newId: deps.newCallId }),
      );
      const thinking = { prompt, template: deps.templateText };
      const required = await inSlices(replyGrammar(request, format?.name, thinking), { signal });
      if (required === 'inexpressible' && mode) return false;
      if (required === 'inexpressible' && (await answerByCall())) return true;
      const grammar = required === 'inexpressible' ? answerGrammar(request, thinking) : required;
      const { controls, conversation } = request;
      // Without thinking there is no budget for it: if the prompt cannot prevent thinking, it is ended at once.
      const reasoning = controls.reasoning ?? (isSilent(request) ? ({ type: 'share', share: 0 } as const) : undefined);
      const renderSpecial = controls.renderSpecial || (needsSpecial(format?.name, deps.templateText) ? 'inner' : false);
      const rendering = { media: conversation.media, prompt, memory, stop, trimStop: true, renderSpecial } as const;
      const listed = request.toolChoice.type === 'none' && request.toolChoice.listed && by === 'template';
      const markers = listed ? callMarkers(toolFormatOf(deps.templateText).name) : [];
      const bannedStrings = [...controls.bannedStrings, ...markers];
      const generation: GenerationRequest = { ...controls, ...rendering, bannedStrings, grammar, reasoning };
      const whole = async () => reservation.generate(generation);
      const calls = new CallBuffer();
      const isDroppable = listed || (offered.length > 0 && by === 'adapter');
      const events = isDroppable ? firstThatFits([whole, withoutListing]) : await whole();
      for await (const event of events) {
        const tooLong = event.type === 'error' && event.error.code === 'context-overflow';
        if (mode && tooLong && !(await isLong())) return false;
        for (const made of reader.read(event)) (mode ? calls.push(made) : [made]).forEach(sink);
      }
      return true;

      /** Whether the conversation is long without its tools, too: agents shorten it when it is refused. */
      async function isLong(): Promise<boolean> {
        const tokens = await countTokens({ ...request, toolChoice: { type: 'none' } }, signal);
        return tokens > text.contextSize() / 2;
      }

      /** The list of tools does not matter for an answer in words, so that it is dropped if it does not fit. */
      async function withoutListing() {
        const use = listed ? deps.templateUse : byFlags;
        const unlisted = await render({ ...request, toolChoice: { type: 'none' } }, signal, use);
        return reservation.generate({ ...generation, prompt: unlisted.prompt, memory: unlisted.memory });
      }
    }
  }

  /** Each warning once: agents send the same tools in each turn. */
  async function warnOfLoosened(request: ChatRequest, signal: AbortSignal): Promise<void> {
    const loosened = await inSlices(loosenedTools(callableTools(request)), { signal });
    for (const text of loosened.map(loosenedText)) {
      if (warned.size >= maxToolWarnings || warned.has(text)) continue;
      warned.add(text);
      deps.warn(`Calls are not held to a part of a tool's schema that no grammar can follow: ${text}`);
    }
  }

  const replies: ChatService['replies'] = (request, context, count) => {
    const countTokens: ChatService['countTokens'] = (each, signal) => countPrompt(each, signal, context);
    return repliesBy({ ...deps, answer, countTokens }, request, context, count);
  };

  /** Of a request that has what is remembered. */
  const countPrompt: ChatService['countTokens'] = async (request, signal, context) => {
    const withTools = await withServerTools(request, deps.serverTools, text.contextSize(), { signal, context });
    const { prompt, memory } = await render(withTools, signal);
    return (await text.tokenize(memory + prompt, { addSpecial: true })).length;
  };

  const countTokens: ChatService['countTokens'] = async (request, signal, context) =>
    countPrompt(context && deps.recall ? await deps.recall(request, context, 'count') : request, signal, context);

  return {
    render,
    thinksAnyway,
    replies,
    reply: (request, context) => replies(request, context, 1)[0] as AsyncIterable<GenerationEvent>,
    countTokens,
  };
}

/** Formats of ordinary tokens; the marks of all others are special tokens, which are not rendered by default. */
const plainFormats: ReadonlySet<string> = new Set(['hermes', 'qwen-coder', 'glm', 'functionary', 'generic']);
const specialTags = thinkingTags.map(({ start }) => start).filter((start) => start !== '<think>');

function needsSpecial(format: string | undefined, template: string | undefined): boolean {
  if (format !== undefined && !plainFormats.has(format)) return true;
  return specialTags.some((tag) => template?.includes(tag));
}

/** Parses the text of a model into events: thinking, text and calls. One pass, for streamed and other replies. */
class ReplyReader {
  #calls = 0;
  #thinkingPieces = 0;

  constructor(
    private readonly splitter: ReasoningSplitter,
    /** Undefined if the reply cannot contain calls. */
    private readonly tools: ToolReader | undefined,
  ) {}

  read(event: GenerationEvent): readonly GenerationEvent[] {
    switch (event.type) {
      case 'text-delta':
        return this.#withLogprobs(event, this.#text(event.text));
      case 'finish':
        return [...this.#end(event.reason !== 'stop'), this.#finish(event)];
      case 'error':
        return [...this.#end(true), event];
      default:
        return [event];
    }
  }

  #text(text: string): GenerationEvent[] {
    const parts = this.splitter.push(text);
    if (parts.some(({ type }) => type === 'reasoning-delta')) this.#thinkingPieces += 1;
    return parts.flatMap((part) => this.#part(part));
  }

  #part(part: ReplyPart): GenerationEvent[] {
    if (part.type === 'reasoning-delta' || !this.tools) return [part];
    return this.#counted(this.tools.push(part.text));
  }

  #end(cut: boolean): GenerationEvent[] {
    const rest = this.splitter.finish().flatMap((part) => this.#part(part));
    return [...rest, ...this.#counted(this.tools?.finish(cut) ?? [])];
  }

  #counted(events: readonly GenerationEvent[]): GenerationEvent[] {
    this.#calls += events.filter(({ type }) => type === 'tool-start').length;
    return [...events];
  }

  /** The finish reason stays `length` if the reply was cut off, also inside a call. */
  #finish(event: GenerationEvent & { type: 'finish' }): GenerationEvent {
    const called = this.#calls > 0 && event.reason === 'stop';
    const usage = { ...event.usage, reasoningTokens: Math.min(this.#thinkingPieces, event.usage.completionTokens) };
    return { ...event, reason: called ? 'tool-calls' : event.reason, usage };
  }

  /** The logprobs of a token go with the first piece of its text; without one, with an empty piece. */
  #withLogprobs(event: GenerationEvent & { type: 'text-delta' }, made: GenerationEvent[]): GenerationEvent[] {
    const { logprobs } = event;
    if (!logprobs) return made;
    const textIndex = made.findIndex(({ type }) => type === 'text-delta' || type === 'reasoning-delta');
    if (textIndex === -1) return [...made, { type: 'text-delta', text: '', logprobs }];
    return made.map((one, index) => (index === textIndex ? ({ ...one, logprobs } as GenerationEvent) : one));
  }
}
