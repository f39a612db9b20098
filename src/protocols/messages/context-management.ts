import { oldResults, withClearedResults } from '../../chat/compaction-plan.ts';
import type { Message } from '../../chat/messages.ts';
import type { ChatRequest, CompactionRequest } from '../../chat/request.ts';
import type { JsonObject } from '../../http/body.ts';
import * as f from '../fields.ts';

type Amount<Unit extends string> = { readonly type: Unit; readonly value: number };

type ClearToolUses = ReturnType<typeof readClearToolUses>;
type ClearThinking = ReturnType<typeof readClearThinking>;

export interface ContextManagement {
  readonly edits: readonly (ClearToolUses | ClearThinking)[];
  readonly compaction: CompactionRequest | undefined;
}

/** An edit as the reply reports it. */
export type AppliedEdit = Readonly<Record<string, string | number>>;

const defaultTrigger = 100_000;
const defaultCompactionTrigger = 150_000;
const maxEdits = 16;

const readEditType = f.oneOf('clear_tool_uses_20250919', 'clear_thinking_20251015', 'compact_20260112');
const readTexts = f.listOf(f.readText);

function amount<const Unit extends string>(...units: readonly [Unit, ...Unit[]]): f.Read<Amount<Unit> | undefined> {
  const readUnit = f.oneOf(...units);
  return f.optional((value, path) => {
    const sent = f.readObject(value, path);
    return { type: f.readAt(sent, 'type', path, readUnit), value: f.readAt(sent, 'value', path, f.readCount) };
  });
}

const toolTrigger = amount('input_tokens', 'tool_uses');
const tokens = amount('input_tokens');
const toolUses = amount('tool_uses');
const thinkingTurns = amount('thinking_turns', 'all');

export const readContextManagement: f.Read<ContextManagement> = f.described(
  { type: 'object', properties: { edits: f.objectsSchema } },
  (value, path) => {
    const edits = f.readAt(f.readObject(value, path), 'edits', path, f.optionalList) ?? [];
    if (edits.length > maxEdits) throw f.wrong(`${path}.edits`, `a list of at most ${maxEdits} edits`);
    const read: (ClearToolUses | ClearThinking)[] = [];
    let compaction: CompactionRequest | undefined;
    for (const [index, entry] of edits.entries()) {
      const at = `${path}.edits[${index}]`;
      const edit = f.readObject(entry, at);
      const type = f.readAt(edit, 'type', at, readEditType);
      if (type === 'compact_20260112') compaction = readCompact(edit, at);
      else read.push(type === 'clear_thinking_20251015' ? readClearThinking(edit, at) : readClearToolUses(edit, at));
    }
    return { edits: read, compaction };
  },
);

function readClearToolUses(edit: JsonObject, at: string) {
  const inputs = edit.clear_tool_inputs;
  const tools = Array.isArray(inputs) ? new Set(readTexts(inputs, `${at}.clear_tool_inputs`)) : undefined;
  const all = tools ? false : (f.readAt(edit, 'clear_tool_inputs', at, f.optionalFlag) ?? false);
  return {
    type: 'clear_tool_uses_20250919',
    trigger: f.readAt(edit, 'trigger', at, toolTrigger) ?? { type: 'input_tokens', value: defaultTrigger },
    /** The last ones, which stay. */
    keep: f.readAt(edit, 'keep', at, toolUses)?.value ?? 3,
    /** If less can be cleared, nothing is. */
    atLeast: f.readAt(edit, 'clear_at_least', at, tokens)?.value ?? 0,
    exclude: new Set(f.readAt(edit, 'exclude_tools', at, f.optional(readTexts)) ?? []),
    /** The tools whose arguments are cleared, too. */
    clearsInputs: (tool: string): boolean => tools?.has(tool) ?? all,
  } as const;
}

function readClearThinking({ keep }: JsonObject, at: string) {
  const all = keep === 'all' || (f.isObject(keep) && keep.type === 'all');
  const turns = all ? Number.POSITIVE_INFINITY : (thinkingTurns(keep, `${at}.keep`)?.value ?? 1);
  /** The last turns, whose thinking stays. */
  return { type: 'clear_thinking_20251015', keep: turns } as const;
}

function readCompact(edit: JsonObject, at: string): CompactionRequest {
  const instructions = f.readAt(edit, 'instructions', at, f.optionalText);
  return {
    trigger: f.readAt(edit, 'trigger', at, tokens)?.value ?? defaultCompactionTrigger,
    pause: f.readAt(edit, 'pause_after_compaction', at, f.optionalFlag) ?? false,
    ...(instructions !== undefined && { instructions: { text: instructions, replace: false } }),
  };
}

/** Applies the edits that clear parts of the prompt, in their order. `count` is only called where an edit needs it. */
export async function applyEdits(
  request: ChatRequest,
  { edits }: Pick<ContextManagement, 'edits'>,
  count: (request: ChatRequest) => Promise<number>,
): Promise<{ readonly request: ChatRequest; readonly applied: readonly AppliedEdit[] }> {
  let current = request;
  let known: number | undefined;
  const size = async (): Promise<number> => {
    known ??= await count(current);
    return known;
  };
  const applied: AppliedEdit[] = [];
  for (const edit of edits) {
    const { messages } = current.conversation;
    const change =
      edit.type === 'clear_thinking_20251015' ? clearThinking(messages, edit) : clearToolUses(messages, edit);
    if (!change.messages) continue;
    const { trigger, atLeast } = edit.type === 'clear_thinking_20251015' ? { trigger: undefined, atLeast: 0 } : edit;
    if (trigger && (trigger.type === 'tool_uses' ? toolUsesOf(messages) : await size()) <= trigger.value) continue;
    const before = await size();
    const shorter = { ...current, conversation: { ...current.conversation, messages: change.messages } };
    const after = await count(shorter);
    if (before - after < atLeast) continue;
    [current, known] = [shorter, after];
    applied.push({ type: edit.type, ...change.report, cleared_input_tokens: Math.max(0, before - after) });
  }
  return { request: current, applied };
}

/** One entry for each edit: its later effects, after calls of the server's own tools, are added to it. */
export function addEdit(applied: AppliedEdit[], later: AppliedEdit): void {
  const index = applied.findIndex(({ type }) => type === later.type);
  const known = applied[index];
  if (!known) return void applied.push(later);
  const sums = Object.entries(later).map(([name, value]) => {
    const before = known[name];
    return [name, typeof value === 'number' && typeof before === 'number' ? before + value : value];
  });
  applied[index] = Object.fromEntries(sums);
}

const toolUsesOf = (messages: readonly Message[]): number => messages.filter(({ role }) => role === 'tool').length;

interface Change {
  /** Undefined if there is nothing to clear. */
  readonly messages: readonly Message[] | undefined;
  readonly report: AppliedEdit;
}

function clearToolUses(messages: readonly Message[], { keep, exclude, clearsInputs }: ClearToolUses): Change {
  const results = oldResults(messages, keep, exclude);
  const calls = new Set(results.map((index) => (messages[index] as Message & { role: 'tool' }).callId));
  const shorter = withClearedResults(messages, results).map((message): Message => {
    if (message.role !== 'assistant' || !message.toolCalls) return message;
    const toolCalls = message.toolCalls.map((call) =>
      calls.has(call.id) && clearsInputs(call.name) ? { ...call, json: '{}' } : call,
    );
    return { ...message, toolCalls };
  });
  return { messages: results.length > 0 ? shorter : undefined, report: { cleared_tool_uses: results.length } };
}

/** A turn is all that the assistant says between two messages of the user. */
function clearThinking(messages: readonly Message[], { keep }: ClearThinking): Change {
  const turns: number[] = [];
  let turn = 0;
  for (const message of messages) {
    if (message.role === 'user') turn += 1;
    if (message.role === 'assistant' && message.reasoning && turns.at(-1) !== turn) turns.push(turn);
  }
  const cleared = new Set(turns.slice(0, Math.max(0, turns.length - keep)));
  turn = 0;
  const shorter = messages.map((message): Message => {
    if (message.role === 'user') turn += 1;
    if (message.role !== 'assistant' || !cleared.has(turn)) return message;
    const { reasoning: _, ...rest } = message;
    return rest;
  });
  return { messages: cleared.size > 0 ? shorter : undefined, report: { cleared_thinking_turns: cleared.size } };
}
