import { withFields } from '../../conversations/character.ts';
import type { Chat } from '../../conversations/conversation.ts';
import { change, chatOrNew } from '../../conversations/library.svelte.ts';
import { leafOf } from '../../conversations/tree.ts';
import { newChat } from '../../library/commands.ts';
import { modelList } from '../../models/models.svelte.ts';
import { server } from '../../models/server.svelte.ts';
import type { ModelStatus } from '../../models/status.ts';
import { useModel } from '../../models/switching.svelte.ts';
import type { SlashCommand } from '../../quick-replies/slash.ts';
import { continueReply } from '../../replies/replies.svelte.ts';
import type { Message } from '../../replies/user-turn.ts';
import { go } from '../../ui/navigation.svelte.ts';
import { notify, notifyFailure } from '../../ui/notices.svelte.ts';
import { retry } from '../actions.ts';
import { commands, type Possible } from './entries.ts';
import { texts } from './texts.ts';

/** What commands use of the page. */
interface CommandHost {
  readonly chat: Chat | undefined;
  /** A reply is running. */
  readonly busy: boolean;
  readonly send: (message: Message) => void;
  /** Replaces the text of the message field. */
  readonly write: (text: string) => void;
  /** Draws an image; without a prompt it is asked for. */
  readonly draw: (prompt: string) => void;
  readonly compare: (message: string) => void;
}

/** The text models that can be chosen. */
export function textModels(): readonly (ModelStatus & { readonly id: string })[] {
  return modelList().filter(
    (model): model is ModelStatus & { readonly id: string } => model.kind === 'text' && model.id !== null,
  );
}

export function possibleIn(chat: Chat | undefined): Possible {
  const { llm = false, txt2img = false, websearch = false } = server.features;
  return {
    hasModel: llm,
    hasImages: txt2img,
    hasSearch: websearch,
    begun: chat !== undefined && leafOf(chat) !== undefined,
    characters: (chat?.characters ?? []).length > 0,
    models: textModels().length,
  };
}

/** Returns why the command was not run, for people. */
function refusal({ name, argument }: SlashCommand, { chat, busy }: CommandHost): string | undefined {
  if (!commands[name].isPossible(possibleIn(chat)))
    return name === 'retry' || name === 'continue' ? texts.noReply : texts.unavailable(name);
  if (busy && commands[name].waits) return texts.busy;
  const last = chat && leafOf(chat);
  if ((name === 'retry' || name === 'continue') && last?.role !== 'assistant') return texts.noReply;
  if (name === 'search' && argument === '') return texts.noText(name);
  return undefined;
}

/** False if the command was not run: a notice says why. */
export async function runCommand(command: SlashCommand, host: CommandHost): Promise<boolean> {
  const refused = refusal(command, host);
  if (refused !== undefined) {
    notify(refused, { kind: 'bad' });
    return false;
  }
  try {
    return await run(command, host);
  } catch (thrown) {
    notifyFailure(thrown);
    return false;
  }
}

async function run({ name, argument }: SlashCommand, host: CommandHost): Promise<boolean> {
  const { chat } = host;
  const last = chat && leafOf(chat);
  switch (name) {
    case 'retry':
      if (chat && last) retry(chat.id, last);
      return true;
    case 'continue':
      if (chat && last) void continueReply(chat.id, last.id);
      return true;
    case 'impersonate':
      if (chat) {
        const { impersonate } = await import('../../roleplay/chats.svelte.ts');
        host.write(await impersonate(chat.id, { onText: host.write }));
      }
      return true;
    case 'image':
      host.draw(argument);
      return true;
    case 'system':
      setSystem(chat, argument);
      return true;
    case 'compare':
      host.compare(argument);
      return true;
    case 'search':
      host.send({ text: argument, webSearch: true });
      return true;
    case 'summarize':
      if (chat) {
        const { summarize } = await import('../../roleplay/summary.svelte.ts');
        await summarize(chat.id, { asked: true });
      }
      return true;
    case 'new':
      newChat();
      return true;
    case 'model':
      return switchModel(argument);
  }
}

function setSystem(chat: Chat | undefined, system: string): void {
  const { id } = chatOrNew(chat?.id);
  if (!chat) go({ view: 'chat', id }, { replace: true });
  change(id, (now) => withFields(now, { system: system === '' ? undefined : system }));
  notify(system === '' ? texts.systemRemoved : texts.systemSet);
}

async function switchModel(name: string): Promise<boolean> {
  const lower = name.toLowerCase();
  const models = textModels();
  const model =
    models.find((model) => model.name.toLowerCase() === lower) ??
    models.find((model) => lower !== '' && model.name.toLowerCase().includes(lower));
  if (!model) {
    notify(texts.noModel(name), { kind: 'bad' });
    return false;
  }
  await useModel(model);
  return true;
}
