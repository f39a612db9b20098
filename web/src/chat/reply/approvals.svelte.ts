import { sentenceOf } from '../../api/failure.ts';
import { newId } from '../../saved/id.ts';
import { change, library } from '../library.svelte.ts';
import type { ToolCall } from '../model/conversation.ts';
import { leafOf, withTurn } from '../model/tree.ts';
import { openCalls, runsWithoutApproval } from './calls.ts';
import { callTool } from './mcp.svelte.ts';
import { onFinished, requestReply } from './replies.svelte.ts';
import { argumentsOf } from './tools.ts';

let running = $state.raw<readonly string[]>([]);

export function isRunning(callId: string): boolean {
  return running.includes(callId);
}

export async function approve(chatId: string, call: ToolCall): Promise<void> {
  if (running.includes(call.id)) return;
  running = [...running, call.id];
  const given = argumentsOf(call.arguments);
  const result = given
    ? await callTool(call.name, given).catch((thrown) => `Error: ${sentenceOf(thrown)}`)
    : 'Error: the arguments are not a JSON object.';
  running = running.filter((id) => id !== call.id);
  finishCall(chatId, call, result);
}

export function deny(chatId: string, call: ToolCall): void {
  finishCall(chatId, call, 'Error: the user did not allow this call.');
}

/** Lets this tool run without approval in this chat. */
export async function trust(chatId: string, call: ToolCall): Promise<void> {
  change(chatId, (chat) => ({ ...chat, trusted: [...new Set([...(chat.trusted ?? []), call.name])] }));
  await approve(chatId, call);
  runTrusted(chatId);
}

function finishCall(chatId: string, call: ToolCall, text: string): void {
  const chat = library.get(chatId);
  // Another branch may be shown meanwhile.
  if (!chat || !openCalls(chat)?.calls.some(({ id }) => id === call.id)) return;
  const parent = leafOf(chat)?.id ?? null;
  change(chatId, (now) =>
    withTurn(now, { id: newId(), parent, role: 'tool', text, at: Date.now(), callId: call.id, toolName: call.name }),
  );
  const now = library.get(chatId);
  if (now && !openCalls(now)) void requestReply(chatId, leafOf(now)?.id ?? null, { undoable: false });
}

function runTrusted(chatId: string): void {
  const chat = library.get(chatId);
  if (!chat) return;
  for (const call of openCalls(chat)?.calls ?? []) if (runsWithoutApproval(chat, call)) void approve(chatId, call);
}

onFinished(runTrusted);
