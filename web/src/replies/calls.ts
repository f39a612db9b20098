import type { Chat, ToolCall, Turn } from '../conversations/conversation.ts';
import { pathOf } from '../conversations/tree.ts';

/** Maximum calls without approval after one message. */
const maxWithoutApproval = 25;

/** The calls of the last reply that have no result yet. */
export function openCalls(chat: Chat): { readonly turn: Turn; readonly calls: readonly ToolCall[] } | undefined {
  const path = pathOf(chat);
  const at = path.findLastIndex(({ role }) => role === 'assistant');
  const turn = path[at];
  if (!turn?.calls || turn.pending) return undefined;
  const answered = new Set(path.slice(at + 1).flatMap(({ callId }) => callId ?? []));
  const calls = turn.calls.filter(({ id }) => !answered.has(id));
  return calls.length > 0 ? { turn, calls } : undefined;
}

export function runsWithoutApproval(chat: Chat, { name }: ToolCall): boolean {
  if (!chat.trusted?.includes(name)) return false;
  const path = pathOf(chat);
  const asked = path.findLastIndex(({ role }) => role === 'user');
  return path.slice(asked + 1).filter(({ role }) => role === 'tool').length < maxWithoutApproval;
}
