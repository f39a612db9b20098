import { AppError } from '../../core/errors.ts';
import { compactionText, type GenerationEvent } from '../../core/events.ts';
import type { ToolCall } from '../../core/fold.ts';
import { isObject, tryParseJson } from '../../core/json.ts';
import type { Medium } from '../../core/request.ts';
import type { ServerCall, ServerOutcome, ServerToolStep } from '../../core/server-tools.ts';
import type { TextModel } from '../../core/text-service.ts';
import type { ServedResult } from '../../core/tool-servers.ts';
import type { Compacted } from '../compaction.ts';
import { type Step, withEarlier } from '../generation-steps.ts';
import { type Conversation, type Message, plainText, text } from '../messages.ts';
import type { ChatRequest } from '../request.ts';
import { CitationMarks, type MarkedPiece } from './citation-marks.ts';
import { CitationFinder, type NumberedSource } from './citations.ts';
import type { ApprovedCall } from './hosted.ts';
import { Notes } from './notes.ts';
import { callServed, connections, failure, ListingFailed, type Offer, offerTools, type ServerTools } from './offer.ts';
import { resultContent } from './result-content.ts';
import { failed, type HostedTool, outcomeText, sourcesOf } from './web-tools.ts';

type Emit = (event: GenerationEvent) => void;

interface LoopDeps extends ServerTools {
  /** One reply of the model. */
  readonly answer: (request: ChatRequest, emit: Emit) => Promise<void>;
  readonly emit: Emit;
  /** Lets other requests use the engine while tools run. */
  readonly rest: () => void;
  readonly stopped: AbortSignal;
  /** The media that the model accepts. */
  readonly inputs: TextModel['inputs'];
  readonly contextSize: number;
  /** Shortens the conversation after each round of calls, if it has to be. */
  readonly fit: (request: ChatRequest) => Promise<Compacted>;
}

const keepAliveMs = 10_000;
const maxCharacters = 32_000;

/** Runs the tools that the model calls and adds their results to the prompt, until it answers. The client sees one reply. */
export async function answerWithTools(request: ChatRequest, deps: LoopDeps): Promise<void> {
  const { stopped } = deps;
  const connected = connections(request, deps);
  if (connected.areSlow) deps.rest();
  try {
    const offer = await offerTools(request, deps, connected, deps.contextSize, stopped);
    const isPlain = offer.isEmpty && offer.listings.length === 0 && !request.hosted?.approved && !request.hosted?.marks;
    await (isPlain ? deps.answer(request, deps.emit) : new Loop(request, deps, offer).run());
  } catch (error) {
    if (error instanceof ListingFailed && error.server.isListed) {
      const step = { type: 'listed', server: error.server.name, tools: [], error: error.message } as const;
      deps.emit({ type: 'server-tool', step });
    }
    throw error;
  } finally {
    connected.close();
  }
}

class Loop {
  readonly #earlier: Step[] = [];
  readonly #notes: Notes;
  readonly #emit: Emit;
  /** All pages that the model was shown. */
  readonly #sources: NumberedSource[];
  readonly #citations: CitationFinder;
  readonly #marks: CitationMarks | undefined;
  #conversation: Conversation;
  #separator = '';
  /** Steps before the start of the reply; undefined after it. */
  #earlySteps: ServerToolStep[] | undefined;

  constructor(
    private readonly request: ChatRequest,
    private readonly deps: LoopDeps,
    private readonly offer: Offer,
  ) {
    this.#sources = (request.hosted?.sources ?? []).map((source) => ({ source, fetched: false }));
    this.#citations = new CitationFinder(this.#sources);
    const { hosted, controls } = request;
    // The tokens of logprobs are those of the text as the model wrote it.
    const marks = hosted?.marks && controls.logprobs === undefined ? hosted.marks : undefined;
    this.#marks = marks && new CitationMarks(this.#sources, marks);
    this.#emit = (event) => {
      if (!this.#marks) return this.#pass(event);
      if (event.type === 'text-delta') return this.#passPieces(this.#marks.push(event.text));
      this.#passPieces(this.#marks.finish());
      this.#pass(event);
    };
    this.#notes = new Notes(request, this.#emit);
    this.#conversation = request.conversation;
    this.#earlySteps = offer.listings.map((listing) => ({ type: 'listed', ...listing }));
  }

  #pass(event: GenerationEvent): void {
    this.deps.emit(event);
    if (event.type === 'text-delta') for (const step of this.#citations.push(event.text)) this.#report(step);
  }

  #passPieces(pieces: readonly MarkedPiece[]): void {
    for (const piece of pieces) {
      if (piece.type === 'text') this.#pass({ type: 'text-delta', text: piece.text });
      else this.#report({ ...piece, type: 'citation', length: 0, back: 0 });
    }
  }

  async run(): Promise<void> {
    const { deps, offer, request } = this;
    await this.#runApproved(request.hosted?.approved ?? []);
    for (let number = 0; ; number += 1) {
      const isLast = number >= deps.turns;
      const tools = isLast ? offer.client : offer.tools;
      const after = { type: isLast && tools.length === 0 ? 'none' : 'auto' } as const;
      const turn = new Turn(this.#emit, this.#separator, offer.isClients);
      const toolChoice = number === 0 ? request.toolChoice : after;
      const grown = { ...request, conversation: { ...this.#conversation, tools }, toolChoice };
      await deps.answer(number === 0 ? grown : await this.#fitted(grown), (event) => {
        // The reply has one start event, whatever the number of turns.
        if (event.type === 'start' && number > 0) return;
        if (event.type === 'error') this.#reportEarlySteps();
        turn.take(event);
        if (event.type === 'start') this.#reportEarlySteps();
      });
      this.#passPieces(this.#marks?.finish() ?? []);
      const { finish } = turn;
      if (turn.failed || !finish) return;
      if (number === 0) this.#warnOfOmitted();
      for (const { name } of turn.cutCalls) {
        this.#emit({ type: 'warning', code: 'tool-call-cut', text: `A call of ${name} was cut off and is not run.` });
      }
      if (turn.calls.length === 0) return this.#finish(finish);
      if (turn.text !== '' && request.output.type === 'text' && !request.hosted?.itemized) this.#separator = '\n\n';
      if (turn.reasoning !== '') this.#notes.mark('\n');
      const pending = turn.calls.filter(({ name }) => offer.hosted.get(name)?.needsApproval);
      const results = await this.#runAll(turn.calls.filter((call) => !pending.includes(call)));
      if (stoppedBy(deps.stopped)) return this.#emit({ type: 'error', error: deps.stopped.reason });
      if (deps.stopped.aborted) return this.#finish({ ...finish, reason: 'aborted', cause: 'aborted' });
      for (const call of pending) {
        this.#report({ type: 'approval', call: serverCall(call, offer.hosted.get(call.name) as HostedTool) });
      }
      // The calls of the client end the reply, as they always do.
      if (turn.clientCalls + pending.length > 0) return this.#finish(finish);
      this.#earlier.push(finish);
      this.#conversation = withResults(this.#conversation, [{ message: turn.message, media: [] }, ...results]);
    }
  }

  async #fitted({ hosted, ...grown }: ChatRequest): Promise<ChatRequest> {
    // Without `hosted`, as its tools are among those of the conversation.
    const { request, compaction } = await this.deps.fit(grown);
    const { messages, media } = request.conversation;
    this.#conversation = { ...this.#conversation, messages, media };
    if (compaction) this.#emit({ type: 'warning', code: 'compacted', text: compactionText(compaction) });
    return { ...request, ...(hosted && { hosted }) };
  }

  #finish(finish: GenerationEvent & { type: 'finish' }): void {
    for (const step of this.#citations.finish()) this.#report(step);
    this.#emit(withEarlier(finish, this.#earlier));
  }

  /** Their results replace the messages that represent them; what was summarised meanwhile is added again. */
  async #runApproved(approved: readonly ApprovedCall[]): Promise<void> {
    if (approved.length === 0) return;
    this.deps.rest();
    const calls = approved.map(({ id, server, name, json }): ServerCall => {
      return { ...serverCall({ id, name, json }, { kind: 'mcp', name, server }), approval: id };
    });
    const results = await this.#runHosted(calls, calls.length);
    this.deps.stopped.throwIfAborted();
    for (const [index, result] of results.entries()) {
      const { id, name, json } = approved[index] as ApprovedCall;
      const { messages } = this.#conversation;
      const isResult = (message: Message) => message.role === 'tool' && message.callId === id;
      const message: Message = { role: 'assistant', content: [], toolCalls: [{ id, name, json }] };
      this.#conversation = messages.some(isResult)
        ? { ...this.#conversation, messages: messages.map((each) => (isResult(each) ? result.message : each)) }
        : withResults(this.#conversation, [{ message, media: [] }, result]);
    }
  }

  #reportEarlySteps(): void {
    const steps = this.#earlySteps ?? [];
    this.#earlySteps = undefined;
    for (const step of steps) this.#report(step);
  }

  #report(step: ServerToolStep): void {
    if (this.#earlySteps) this.#earlySteps.push(step);
    else if (step.type !== 'citation' || this.request.hosted) this.deps.emit({ type: 'server-tool', step });
  }

  #warnOfOmitted(): void {
    const { omitted, available } = this.offer;
    if (omitted === 0) return;
    const sentence = `${omitted} of ${available} tools do not fit into the context (--contextsize) and are not offered.`;
    this.#emit({ type: 'warning', code: 'tools-left-out', text: sentence });
  }

  /** Runs all calls of one turn in parallel; the results are in the order of the calls. */
  async #runAll(calls: readonly ToolCall[]): Promise<readonly Answered[]> {
    if (calls.length === 0) return [];
    this.deps.rest();
    const hosted = calls.flatMap((call) => {
      const tool = this.offer.hosted.get(call.name);
      return tool ? [serverCall(call, tool)] : [];
    });
    const others = calls.filter(({ name }) => !this.offer.hosted.has(name));
    const [own, served] = await Promise.all([
      this.#runHosted(hosted, calls.length),
      this.#runServed(others, calls.length),
    ]);
    const byId = new Map([...own, ...served].map((each) => [each.message.callId, each]));
    return calls.flatMap(({ id }) => byId.get(id) ?? []);
  }

  #toolOf({ name, server }: ServerCall): HostedTool | undefined {
    return [...this.offer.hosted.values()].find((tool) => tool.name === name && tool.server === server);
  }

  async #runHosted(calls: readonly ServerCall[], shares: number): Promise<readonly Answered[]> {
    const options = { signal: this.deps.stopped, characters: this.#characters(shares) };
    for (const call of calls) this.#report({ type: 'call', call });
    const outcomes = await Promise.all(
      calls.map(async (call): Promise<ServerOutcome> => {
        const tool = this.#toolOf(call);
        if (!tool) return { type: 'result', text: `There is no tool ${call.name} any more.`, failed: true };
        if (!isObject(tryParseJson(call.json))) return failed('invalid_tool_input');
        return tool.run(call, options);
      }),
    );
    return outcomes.map((outcome, index) => {
      const call = calls[index] as ServerCall;
      const number = this.#sources.length + 1;
      for (const source of sourcesOf(outcome)) {
        this.#sources.push({ source, fetched: outcome.type === 'page' });
        this.offer.known.add(`${source.url} ${source.text}`);
      }
      if (outcome.type === 'error') this.deps.onToolRun?.(`${call.name} (${outcome.reason})`, true);
      else this.deps.onToolRun?.(call.name, outcome.type === 'result' && outcome.failed);
      if (!this.deps.stopped.aborted) this.#report({ type: 'outcome', call, outcome });
      const content = text(outcomeText(outcome, number));
      const toolName = this.#toolOf(call)?.tool.name ?? call.name;
      return { message: { role: 'tool', content, callId: call.id, toolName }, media: [] };
    });
  }

  /** The tools of `--mcpserverloop`, which are reported as thinking. */
  async #runServed(calls: readonly ToolCall[], shares: number): Promise<readonly Answered[]> {
    if (calls.length === 0) return [];
    const { deps } = this;
    const notes = this.#notes;
    for (const { name, json } of calls) notes.called(name, json);
    let timer = deps.startTimer(keepAliveMs, keepAlive);
    function keepAlive(): void {
      notes.mark('.');
      timer = deps.startTimer(keepAliveMs, keepAlive);
    }
    const results = await Promise.all(calls.map((call) => runServed(call, deps))).finally(() => timer.cancel());
    const answered: Answered[] = [];
    let count = this.#conversation.media.length;
    for (const [index, { id, name }] of calls.entries()) {
      const result = results[index] ?? {};
      deps.onToolRun?.(name, result.isError === true);
      const limits = { characters: this.#characters(shares), inputs: deps.inputs, media: count };
      const { content, media } = resultContent(result, limits);
      count += media.length;
      answered.push({ message: { role: 'tool', content, callId: id, toolName: name }, media });
      if (!deps.stopped.aborted) notes.gave(name, plainText(content));
    }
    notes.done();
    return answered;
  }

  #characters(calls: number): number {
    return Math.min(maxCharacters, Math.floor(this.deps.contextSize / calls));
  }
}

function stoppedBy({ reason }: AbortSignal): boolean {
  return reason instanceof AppError;
}

interface Answered {
  readonly message: Message & { readonly callId?: string };
  readonly media: readonly Medium[];
}

/** The JSON of a call without arguments may be empty. */
const argumentsJson = ({ json }: Pick<ToolCall, 'json'>): string => (json.trim() === '' ? '{}' : json);

function serverCall(call: ToolCall, tool: Pick<HostedTool, 'kind' | 'name' | 'server'>): ServerCall {
  const json = argumentsJson(call);
  const parsed = tryParseJson(json);
  return {
    id: call.id,
    kind: tool.kind,
    name: tool.name,
    ...(tool.server !== undefined && { server: tool.server }),
    json,
    input: isObject(parsed) ? parsed : {},
  };
}

async function runServed(call: ToolCall, { servers, stopped }: LoopDeps): Promise<ServedResult> {
  const parsed = tryParseJson(argumentsJson(call));
  if (!isObject(parsed)) return failure('its arguments are no JSON object.');
  return servers ? callServed(servers, { name: call.name, arguments: { ...parsed } }, stopped) : {};
}

function withResults(conversation: Conversation, results: readonly Answered[]): Conversation {
  return {
    ...conversation,
    messages: [...conversation.messages, ...results.map(({ message }) => message)],
    media: [...conversation.media, ...results.flatMap(({ media }) => media)],
  };
}

type CallEvent = Extract<GenerationEvent, { type: 'tool-start' | 'tool-delta' | 'tool-end' }>;

/** One generation of the model: its text and the calls of the client are passed on, other calls are collected. */
class Turn {
  readonly #calls: ToolCall[] = [];
  /** The indices of the client's calls, by those of the model. */
  readonly #passed = new Map<number, number>();
  text = '';
  reasoning = '';
  finish: Extract<GenerationEvent, { type: 'finish' }> | undefined;
  failed = false;

  constructor(
    private readonly emit: Emit,
    /** Between the text of earlier turns and that of this one. */
    private readonly separator: string,
    private readonly isClients: (tool: string) => boolean,
  ) {}

  take(event: GenerationEvent): void {
    switch (event.type) {
      case 'tool-start':
      case 'tool-delta':
      case 'tool-end':
        this.#takeCall(event);
        return;
      case 'finish':
        this.finish = event;
        return;
      case 'error':
        this.failed = true;
        break;
      case 'text-delta':
        if (this.text === '' && event.text !== '') this.#emitSeparator();
        this.text += event.text;
        break;
      case 'reasoning-delta':
        this.reasoning += event.text;
        break;
    }
    this.emit(event);
  }

  #emitSeparator(): void {
    if (this.separator !== '') this.emit({ type: 'text-delta', text: this.separator });
  }

  #takeCall(event: CallEvent): void {
    if (event.type === 'tool-start') {
      if (this.isClients(event.name)) this.#passed.set(event.index, this.#passed.size);
      else this.#calls[event.index] = { id: event.id, name: event.name, json: '' };
    }
    const call = this.#calls[event.index];
    if (call && event.type === 'tool-delta') call.json += event.json;
    const index = this.#passed.get(event.index);
    if (index !== undefined) this.emit({ ...event, index });
  }

  get clientCalls(): number {
    return this.#passed.size;
  }

  /** The calls to run, in the order in which they were made. */
  get calls(): readonly ToolCall[] {
    return this.finish?.reason === 'tool-calls' ? this.#calls.filter(Boolean) : [];
  }

  /** Calls that were cut off. */
  get cutCalls(): readonly ToolCall[] {
    return this.finish?.reason === 'tool-calls' ? [] : this.#calls.filter(Boolean);
  }

  get message(): Message {
    return {
      role: 'assistant',
      content: text(this.text),
      ...(this.reasoning === '' ? {} : { reasoning: this.reasoning }),
      toolCalls: this.calls,
    };
  }
}
