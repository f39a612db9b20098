import { tagsWithoutThinking } from '../chat/adapters/adapter.ts';
import { type ChatService, chatService } from '../chat/service.ts';
import type { Settings } from '../config/flags.ts';
import type { TextService } from '../core/text-service.ts';
import { fixedTextSource, type TextSource } from '../core/text-source.ts';
import type { ToolServers } from '../core/tool-servers.ts';
import { noTextEngine } from '../engines/none.ts';
import { systemTimer } from '../http/timers.ts';
import type { ChatFormat } from '../models/chat-format.ts';
import { type TaskSources, taskSources } from '../models/engine-kinds.ts';
import { hasText, type PreparedModel, type RemoteModel } from '../models/prepared-model.ts';
import type { Registry } from '../models/registry.ts';
import { type Arrival, type LoadTimeout, textSourceOf } from '../models/registry-source.ts';
import { printable } from '../observe/printable.ts';
import { randomId } from '../protocols/dialect.ts';

/** What a model brings; everything else is shared by all models of the server. */
export interface ModelParts {
  /** The name that requests use; empty for the only model. */
  readonly name?: string;
  readonly settings: Settings;
  readonly source: TextSource;
  readonly format: ChatFormat;
  /** Of a model on a remote backend: how many requests may run at once, and its chat service. */
  readonly remote?: Pick<RemoteModel, 'capacity' | 'chat'>;
  /** The engines of the other kinds. */
  readonly taskSources?: TaskSources;
}

/** What the context of a model is built from. */
export function modelParts(model: PreparedModel, registry: Registry, arrival?: Arrival): ModelParts {
  const { name, settings, format, remote } = model;
  const timeout = loadTimeoutOf(settings);
  const sources = taskSources(registry, model.taskModels, timeout);
  if (!hasText(model))
    return {
      name,
      settings,
      format,
      taskSources: sources,
      source: fixedTextSource(noTextEngine(settings.contextsize)),
    };
  return {
    name,
    settings,
    format,
    taskSources: sources,
    ...(remote ? { remote } : {}),
    source: textSourceOf(registry, model, { timeout, arrival }),
  };
}

function loadTimeoutOf({ routermode, reqtimeout }: Settings): LoadTimeout | undefined {
  return routermode ? { seconds: reqtimeout, startTimer: systemTimer } : undefined;
}

interface ModelChatParts {
  readonly settings: Pick<Settings, 'jinja_kwargs' | 'mcpserverloop'>;
  readonly format: ChatFormat;
  /** The chat service of a model on a remote backend. */
  readonly remote?: Pick<RemoteModel, 'chat'>;
}

/** What all models share. */
interface SharedChatParts {
  readonly tools?: ToolServers | undefined;
  readonly warn: (text: string) => void;
}

/** The chats of one model. */
export function modelChat(
  { settings, format, remote }: ModelChatParts,
  { tools, warn }: SharedChatParts,
  text: TextService,
): ChatService {
  const { tags } = format.adapter.adapter;
  const turns = settings.mcpserverloop;
  const serverTools = tools && turns > 0 ? { servers: tools, turns, startTimer: systemTimer, ran } : undefined;
  if (remote) return remote.chat(text, serverTools);
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
