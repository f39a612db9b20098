import { clientFacts } from '../../chat/client-facts.ts';
import { type ClientFacts, type KnownClient, knownClient, sideTask } from '../../core/clients.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { entryToDrop, type Owner, ownerOf } from '../../core/owner.ts';
import type { ObservedRequest, RequestObserver } from '../../core/request-observer.ts';
import type { Clock } from '../../core/timers.ts';
import { isChat, isContent } from '../record.ts';
import { assignmentOf, lossOf, measured, type PromptSpeed, type Turn } from './turn.ts';

/** What is kept: figures, and the few words of each loss. */
const limits = { conversations: 100, turns: 100 };

/** A turn or a side request has ended. Must not throw. */
export type TurnEnded = (conversation: Conversation, turn: Turn, speed: PromptSpeed | undefined) => void;

interface ReportOptions extends Clock {
  readonly ended?: TurnEnded | undefined;
  readonly limits?: typeof limits;
}

/** The turns of one client with one model, and their side requests. */
export interface Conversation {
  readonly number: number;
  readonly owner: Owner;
  client: KnownClient;
  /** Address and user agent. */
  readonly sender: string;
  /** As the client names it in a header. */
  readonly session: string | undefined;
  readonly isSubAgent: boolean;
  readonly model: string;
  readonly startedAt: number;
  /** Of its first turn; 0 before it. */
  firstPromptTokens: number;
  /** The last turns and side requests, the oldest first; the totals count all. */
  readonly history: Turn[];
  readonly totals: { turns: number; sides: number; cached: number; computed: number; written: number; lost: number };
  /** Numbers of the engine, by which later prompts are recognized. */
  readonly sequences: Set<number>;
}

type Start = Extract<GenerationEvent, { type: 'start' }>;

interface Request {
  readonly head: ObservedRequest;
  owner: Owner;
  model: string;
  facts: ClientFacts;
}

interface Running {
  readonly from: number;
  firstTokenAt?: number;
  /** Undefined if it is not followed. */
  assigned?:
    | {
        readonly conversation: Conversation;
        readonly task: Turn['task'];
        readonly start: Start;
        /** Whether the prompt that it follows is of the same owner. */
        readonly followsOwn: boolean;
      }
    | undefined;
}

const sessionHeaders = ['x-claude-code-session-id', 'session-id', 'x-session-id', 'x-openwebui-chat-id'];
const subAgentHeaders = ['x-claude-code-agent-id', 'x-parent-session-id'];

/** Follows conversations from turn to turn: how much of each prompt was cached, and what was lost where. Keeps no prompts. */
export class ConversationReport {
  /** The least recently used first. */
  #conversations: Conversation[] = [];
  readonly #speeds = new Map<string, PromptSpeed>();
  #count = 0;

  constructor(private readonly options: ReportOptions) {}

  /** The most recently used first; those of one owner, or all. */
  list(owner?: Owner): readonly Conversation[] {
    return this.#conversations.filter((one) => owner === undefined || one.owner === owner).reverse();
  }

  speedOf(model: string): PromptSpeed | undefined {
    return this.#speeds.get(model);
  }

  /** Forgets those of one owner, or all. */
  clear(owner?: Owner): void {
    this.#conversations = this.#conversations.filter((one) => owner !== undefined && one.owner !== owner);
  }

  /** A sink of the server's exchanges. */
  watch(head: ObservedRequest): RequestObserver | undefined {
    if (head.method !== 'POST' || head.recorded === false) return undefined;
    const { tick } = this.options;
    const request: Request = { head, owner: ownerOf({}), model: '', facts: {} };
    const running = new Map<number, Running>();
    let from = tick();
    return {
      authorized: (name) => {
        request.owner = ownerOf({ key: name === undefined ? undefined : { name } });
      },
      modelSelected: (name) => {
        request.model = name;
      },
      decoded: (body) => {
        if (isChat(body)) request.facts = clientFacts(body.conversation);
      },
      generationBegun: (_request, _contextSize, job) => {
        running.set(job, { from });
      },
      // Called for each token.
      event: (event, job) => {
        const one = running.get(job);
        if (!one) return;
        if (event.type === 'start') one.assigned = this.#assign(event, request);
        else if (event.type === 'finish' || event.type === 'error') {
          running.delete(job);
          from = tick();
          if (event.type === 'finish') this.#ended(one, event);
        } else if (one.firstTokenAt === undefined && isContent(event)) one.firstTokenAt = tick();
      },
    };
  }

  #assign(start: Start, { head, owner, model, facts }: Request): Running['assigned'] {
    const { origin, promptTokens } = start;
    const sender = `${head.remoteAddress} ${head.headers['user-agent'] ?? ''}`;
    const session = firstHeader(head, sessionHeaders, firstHeader(head, subAgentHeaders));
    const own = this.#conversations.filter((one) => one.owner === owner && one.model === model);
    const sequence = origin?.previous?.sequence ?? Number.NaN;
    const previous = own.findLast(({ sequences }) => sequences.has(sequence));
    const task = sideTask(facts);
    const { conversation: known, as } = assignmentOf(
      { session, task, promptTokens, origin },
      {
        previous,
        ofSession: own.findLast((one) => session !== undefined && one.session === session),
        latest: own.findLast((one) => one.sender === sender),
      },
    );
    // Without a session nothing would lead from it to its conversation.
    if (!known && session === undefined && (!origin || as === 'side')) return undefined;
    const client = knownClient({ ...facts, headers: head.headers });
    const conversation = known ?? {
      number: ++this.#count,
      owner,
      client,
      sender,
      session,
      model,
      startedAt: this.options.now(),
      isSubAgent: firstHeader(head, subAgentHeaders) !== undefined,
      firstPromptTokens: 0,
      history: [],
      totals: { turns: 0, sides: 0, cached: 0, computed: 0, written: 0, lost: 0 },
      sequences: new Set<number>(),
    };
    // Some clients are recognized by their side requests only.
    if (!conversation.client.id) conversation.client = client;
    if (as === 'turn') conversation.firstPromptTokens ||= promptTokens;
    if (origin) remember(conversation.sequences, origin.sequence, (this.options.limits ?? limits).turns);
    this.#keep(conversation);
    const followsOwn = previous !== undefined;
    return { conversation, start, followsOwn, task: task ?? (as === 'side' ? 'other' : undefined) };
  }

  #keep(conversation: Conversation): void {
    const { conversations: max } = this.options.limits ?? limits;
    this.#conversations = [...this.#conversations.filter((one) => one !== conversation), conversation];
    if (this.#conversations.length <= max) return;
    const entries = this.#conversations.map((one) => ({
      one,
      owner: one.owner,
      size: 1,
      droppable: one !== conversation,
    }));
    // Single requests go first: scripts send many of them.
    const single = entries.filter(({ one, droppable }) => droppable && one.totals.turns < 2);
    const dropped = entryToDrop(single, conversation.owner) ?? entryToDrop(entries, conversation.owner) ?? entries[0];
    this.#conversations = this.#conversations.filter((one) => one !== dropped?.one);
  }

  #ended({ assigned, from, firstTokenAt }: Running, event: Extract<GenerationEvent, { type: 'finish' }>): void {
    if (!assigned) return;
    const { conversation, task, start, followsOwn } = assigned;
    const { totals, history, model } = conversation;
    const { usage, timings } = event;
    const isTurn = task === undefined || task === 'compaction';
    // The words of another owner's prompt stay with that owner.
    const { miss: _, ...figures } = start;
    const loss = isTurn && totals.turns > 0 ? lossOf(followsOwn ? start : figures) : undefined;
    const turn: Turn = {
      time: this.options.now(),
      ...(task && { task }),
      promptTokens: usage.promptTokens,
      cachedTokens: usage.cachedTokens,
      computedTokens: timings.processedTokens,
      writtenTokens: usage.completionTokens,
      firstTokenMs: firstTokenAt === undefined ? undefined : firstTokenAt - from,
      ...(loss && { loss }),
    };
    totals[isTurn ? 'turns' : 'sides'] += 1;
    totals.cached += turn.cachedTokens;
    totals.computed += turn.computedTokens;
    totals.written += turn.writtenTokens;
    totals.lost += loss?.tokens ?? 0;
    history.push(turn);
    if (history.length > (this.options.limits ?? limits).turns) history.shift();
    const speed = measured(this.#speeds.get(model), timings.processedTokens, timings.promptMs);
    if (speed) this.#speeds.set(model, speed);
    this.options.ended?.(conversation, turn, speed);
  }
}

/** The first of these headers that was sent. A sub-agent has the session of its parent, and an id of its own. */
function firstHeader({ headers }: ObservedRequest, names: readonly string[], part?: string): string | undefined {
  const value = names.map((name) => headers[name]).find((text) => typeof text === 'string' && text !== '');
  return value === undefined ? undefined : `${value}${part === undefined ? '' : ` ${part}`}`.slice(0, 200);
}

function remember(sequences: Set<number>, sequence: number, max: number): void {
  sequences.add(sequence);
  const [oldest] = sequences;
  if (sequences.size > max && oldest !== undefined) sequences.delete(oldest);
}
