import { read } from '../../api/call.ts';
import type { Chat, Turn } from '../../conversations/conversation.ts';
import { change, chatRecords } from '../../conversations/library.svelte.ts';
import { pathOf, renamed } from '../../conversations/tree.ts';
import { chosenModel } from '../../models/models.svelte.ts';
import { server } from '../../models/server.svelte.ts';
import { embeddedModel } from '../../models/status.ts';
import { promptFor } from '../../replies/prompt.svelte.ts';
import { onFinished } from '../../replies/replies.svelte.ts';
import { settings } from '../../settings/settings.svelte.ts';
import { texts } from './texts.ts';
import { titleOf } from './title.ts';

const maxTokens = 32;
let running = new AbortController();

/** Ends all requests for titles: messages of the person come first. */
export function cancelTitles(): void {
  running.abort();
  running = new AbortController();
}

onFinished((chatId) => {
  const chat = chatRecords.find(chatId);
  const path = chat ? pathOf(chat) : [];
  if (chat && settings.modelTitles && server.model !== embeddedModel && needsTitle(chat, path))
    void writeTitle(chat, path, running.signal);
});

/** After the first reply, unless the chat has the name of its character or a title of the person. */
function needsTitle(chat: Chat, path: readonly Turn[]): boolean {
  const last = path.at(-1);
  const finished = last?.role === 'assistant' && last.text !== '' && !last.failed && !last.calls?.length;
  const questions = path.filter(({ role }) => role === 'user').length;
  return finished && questions === 1 && !chat.titled && !chat.characters?.length;
}

async function writeTitle(chat: Chat, path: readonly Turn[], signal: AbortSignal): Promise<void> {
  try {
    // The same messages as before, so that the server need not read them again.
    const prompt = await promptFor(chat, path);
    if (prompt.form !== 'template') return;
    const model = chosenModel();
    const answer = await read<{ choices?: readonly { message?: { content?: string | null } }[] }>(
      'v1/chat/completions',
      {
        body: {
          messages: [...prompt.messages, { role: 'user', content: texts.request }],
          max_tokens: maxTokens,
          temperature: 0.3,
          reasoning_effort: 'none',
          chat_template_kwargs: { enable_thinking: false },
          ...(model === undefined ? {} : { model }),
        },
        signal,
        background: true,
      },
    );
    const title = titleOf(answer.choices?.[0]?.message?.content ?? '', texts.request);
    if (title !== undefined && !signal.aborted) change(chat.id, (now) => (now.titled ? now : renamed(now, title)));
  } catch {
    // The first message stays the title.
  }
}
