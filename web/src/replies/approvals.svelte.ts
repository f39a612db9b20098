import { sentenceOf } from '../api/failure.ts';
import type { Chat, ToolCall } from '../conversations/conversation.ts';
import { change, chatRecords } from '../conversations/library.svelte.ts';
import { leafOf, withTurn } from '../conversations/tree.ts';
import { newId } from '../saved/id.ts';
import { tryAcquire } from '../saved/ownership.ts';
import { callTool } from '../tools/mcp.svelte.ts';
import { argumentsOf } from '../tools/tools.ts';
import { openCalls, runsWithoutApproval } from './calls.ts';
import { onFinished, requestReply } from './replies.svelte.ts';

let running = $state.raw<readonly string[]>([]);

export function isRunning(callId: string): boolean {
  return running.includes(callId);
}

export async function approve(chatId: string, call: ToolCall): Promise<void> {
  await settle(chatId, call, async () => {
    const args = argumentsOf(call.arguments);
    if (!args) return 'Error: the arguments are not a JSON object.';
    return callTool(call.name, args).catch((thrown) => `Error: ${sentenceOf(thrown)}`);
  });
}

export async function deny(chatId: string, call: ToolCall): Promise<void> {
  await settle(chatId, call, async () => 'Error: the user did not allow this call.');
}

/** In one tab only, and only if no other tab has done it already. */
async function settle(chatId: string, call: ToolCall, resultOf: () => Promise<string>): Promise<void> {
  if (running.includes(call.id)) return;
  running = [...running, call.id];
  const release = await tryAcquire(`parley.call.${chatId}.${call.id}`);
  let result: string | undefined;
  try {
    const chat = release && (await chatRecords.refresh(chatId));
    if (chat && isOpen(chat, call)) result = await resultOf();
  } finally {
    running = running.filter((id) => id !== call.id);
    if (result !== undefined) finishCall(chatId, call, result);
    await chatRecords.flush(chatId);
    release?.();
  }
}

function isOpen(chat: Chat, call: ToolCall): boolean {
  return openCalls(chat)?.calls.some(({ id }) => id === call.id) ?? false;
}

/** Lets this tool run without approval in this chat. */
export async function trust(chatId: string, call: ToolCall): Promise<void> {
  change(chatId, (chat) => ({ ...chat, trusted: [...new Set([...(chat.trusted ?? []), call.name])] }));
  await approve(chatId, call);
  runTrusted(chatId);
}

function finishCall(chatId: string, call: ToolCall, text: string): void {
  const chat = chatRecords.find(chatId);
  // Another branch may be shown meanwhile.
  if (!chat || !isOpen(chat, call)) return;
  const parent = leafOf(chat)?.id ?? null;
  change(chatId, (now) =>
    withTurn(now, { id: newId(), parent, role: 'tool', text, at: Date.now(), callId: call.id, toolName: call.name }),
  );
  const now = chatRecords.find(chatId);
  if (now && !openCalls(now)) void requestReply(chatId, leafOf(now)?.id ?? null, { undoable: false });
}

function runTrusted(chatId: string): void {
  const chat = chatRecords.find(chatId);
  if (!chat) return;
  for (const call of openCalls(chat)?.calls ?? []) if (runsWithoutApproval(chat, call)) void approve(chatId, call);
}

onFinished(runTrusted);
