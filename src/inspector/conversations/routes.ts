import { type Owner, ownerOf } from '../../core/owner.ts';
import { type Call, json } from '../../http/call.ts';
import { read, write } from '../../protocols/access.ts';
import { type AdminAccess, mayAdminister } from '../../protocols/admin/access.ts';
import { endpointRow, type PlainEndpoint } from '../../protocols/endpoint.ts';
import { inspectorDialect } from '../dialect.ts';
import { redactor } from '../redact.ts';
import type { Conversation, ConversationReport } from './report.ts';
import { type PromptSpeed, secondsFor, type Turn } from './turn.ts';

interface ConversationServices {
  /** Undefined with `--noagentreport`. */
  readonly report: ConversationReport | undefined;
  readonly access: AdminAccess;
  readonly hasKeys: boolean;
  /** Passwords and keys of the settings. */
  readonly secrets: readonly string[];
}

const path = '/api/extra/conversations';
const row = endpointRow(read(), { method: 'GET', dialect: inspectorDialect, recorded: false });

/** The report on conversations: a key of `--keyfile` sees its own, administrators see all. */
export function conversationEndpoints({ report, access, hasKeys, secrets }: ConversationServices): PlainEndpoint[] {
  const seenBy = (call: Call): Owner | undefined =>
    !hasKeys || mayAdminister(access, call) ? undefined : ownerOf(call);
  const redact = redactor(secrets);
  return [
    row(
      path,
      'Conversations turn by turn: how many tokens were cached, computed and written, and what was lost where.',
      (call) => {
        const conversations = (report?.list(seenBy(call)) ?? []).map((one) => view(one, report?.speedOf(one.model)));
        return json({ enabled: report !== undefined, conversations: redact(conversations) });
      },
      { response: 'conversations' },
    ),
    row(
      path,
      'Forget the figures of these conversations.',
      (call) => {
        report?.clear(seenBy(call));
        return json({ success: true });
      },
      { ...write(), method: 'DELETE', response: 'success' },
    ),
  ];
}

function view(conversation: Conversation, speed: PromptSpeed | undefined) {
  const { number, client, owner, model, isSubAgent, startedAt, totals, history } = conversation;
  return {
    number,
    client: client.name,
    key: owner.startsWith('key ') ? owner.slice(4) : null,
    model,
    sub_agent: isSubAgent,
    started: new Date(startedAt).toISOString(),
    turns: totals.turns,
    side_requests: totals.sides,
    cached_tokens: totals.cached,
    computed_tokens: totals.computed,
    written_tokens: totals.written,
    saved_seconds: rounded(secondsFor(totals.cached, speed)),
    lost_seconds: rounded(secondsFor(totals.lost, speed)),
    history: history.map((turn) => turnView(turn, speed)),
  };
}

function turnView({ time, task, promptTokens, loss, ...turn }: Turn, speed: PromptSpeed | undefined) {
  return {
    time: new Date(time).toISOString(),
    task: task ?? null,
    prompt_tokens: promptTokens,
    cached_tokens: turn.cachedTokens,
    computed_tokens: turn.computedTokens,
    written_tokens: turn.writtenTokens,
    first_token_ms: turn.firstTokenMs === undefined ? null : Math.round(turn.firstTokenMs),
    loss: loss ? { ...loss, seconds: rounded(secondsFor(loss.tokens, speed)) } : null,
  };
}

const rounded = (seconds: number | null): number | null => (seconds === null ? null : Math.round(seconds * 10) / 10);
