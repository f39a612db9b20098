import { tagsWithoutThinking } from '../chat/adapters/guess-list.ts';
import { type ChatService, chatService } from '../chat/service.ts';
import type { Settings } from '../config/flags.ts';
import type { TextService } from '../core/text-service.ts';
import type { ToolServers } from '../core/tool-servers.ts';
import { systemTimer } from '../http/timers.ts';
import { printable } from '../observe/printable.ts';
import { randomId } from '../protocols/dialect.ts';
import type { ChatFormat } from './chat-format.ts';
import type { Elsewhere } from './prepared-model.ts';

export interface RoomChatParts {
  readonly settings: Pick<Settings, 'jinja_kwargs' | 'mcpserverloop'>;
  readonly format: ChatFormat;
  /** Who answers where other machines serve the model. */
  readonly elsewhere?: Pick<Elsewhere, 'chat'>;
}

/** What all rooms share. */
export interface SharedChatParts {
  readonly tools?: ToolServers | undefined;
  readonly warn: (text: string) => void;
}

/** The chats of one model. */
export function roomChat(
  { settings, format, elsewhere }: RoomChatParts,
  { tools, warn }: SharedChatParts,
  text: TextService,
): ChatService {
  const { tags } = format.adapter.adapter;
  const turns = settings.mcpserverloop;
  const serverTools = tools && turns > 0 ? { servers: tools, turns, startTimer: systemTimer, ran } : undefined;
  if (elsewhere) return elsewhere.chat(text, serverTools);
  return chatService({
    text,
    tags,
    tagsWithoutThinking: tagsWithoutThinking(tags, { name: format.adapter.name, template: format.templateText }),
    templateText: format.templateText,
    template: format.template,
    templateTools: format.templateTools,
    serverVariables: settings.jinja_kwargs ?? {},
    now: () => new Date(),
    newCallId: () => randomId('call_'),
    warn,
    serverTools,
  });

  function ran(name: string, failed: boolean): void {
    warn(`The tool ${printable(name)} ${failed ? 'failed' : 'ran'} for a chat.`);
  }
}
