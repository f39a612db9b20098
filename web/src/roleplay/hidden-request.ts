import { abortGeneration, call } from '../api/call.ts';
import { pause, requestReply } from '../api/running-reply.ts';
import { texts } from '../characters/chat-texts.ts';
import { resolveMacros } from '../characters/macros.ts';
import { macroValues, type PromptFrame } from '../characters/prompt.ts';
import type { Chat, Turn } from '../conversations/conversation.ts';
import { chosenModel } from '../models/models.svelte.ts';
import { promptFor } from '../replies/prompt.svelte.ts';
import { chatReplies } from '../replies/reply.ts';
import { chatRequest } from '../replies/request.ts';
import { newId } from '../saved/id.ts';
import { settings } from '../settings/settings.svelte.ts';

interface HiddenRequest {
  readonly instruction: string;
  readonly replyLength: number;
  readonly stops?: readonly string[];
  readonly signal?: AbortSignal | undefined;
  readonly onText?: ((text: string) => void) | undefined;
}

/** Asks the model about a chat without adding a message to it. Returns the reply without its reasoning. */
export async function hiddenReply(chat: Chat, path: readonly Turn[], request: HiddenRequest): Promise<string> {
  const { instruction, replyLength, onText, stops = [] } = request;
  const signal = request.signal ?? new AbortController().signal;
  const reframe = (frame: PromptFrame): PromptFrame => {
    const text = resolveMacros(instruction, macroValues(chat, frame.cast, { system: '', now: new Date() }));
    return { ...frame, inserted: [...frame.inserted, { text, depth: 0, role: 'user' }], after: '' };
  };
  const speaker = path.findLast((turn) => turn.speaker !== undefined)?.speaker;
  const { promptForm: _, ...inTemplate } = chat;
  const prompt = await promptFor(inTemplate, path, { speaker, reframe });
  const genkey = `PRLY${newId()}`;
  const body = chatRequest({
    messages: prompt.form === 'template' ? prompt.messages : [],
    genkey,
    replyLength,
    sampling: settings.sampling,
    probabilities: false,
    model: chosenModel(),
    effort: settings.reasoningEffort,
    tools: [],
    continues: false,
    stops,
  });
  signal.addEventListener('abort', () => abortGeneration(genkey));
  const reply = await requestReply(chatReplies, body, {
    call,
    wait: pause,
    signal,
    onReply: ({ text }) => onText?.(text),
    onStatus: () => {},
  });
  if (reply.failed !== undefined) throw new Error(reply.failed);
  if (reply.text.trim() === '') throw new Error(texts.emptyReply);
  return reply.text.trim();
}
