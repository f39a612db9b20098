import { tagsWithoutThinking } from '../chat/adapters/adapter.ts';
import { type ChatService, chatService } from '../chat/service.ts';
import type { Settings } from '../config/flags.ts';
import type { TextService } from '../core/text-service.ts';
import type { TextSource } from '../core/text-source.ts';
import { alwaysThere } from '../core/text-source.ts';
import type { ToolServers } from '../core/tool-servers.ts';
import { noTextEngine } from '../engines/none.ts';
import { systemTimer } from '../http/timers.ts';
import type { Arrival, LoadTimeout } from '../models/arrival.ts';
import type { ChatFormat } from '../models/chat-format.ts';
import type { ModelKinds } from '../models/kinds.ts';
import { hasText, type PreparedModel, type RemoteModel } from '../models/prepared-model.ts';
import type { Registry } from '../models/registry.ts';
import { textSourceOf } from '../models/registry-source.ts';
import { taskSources } from '../models/task-models.ts';
import { printable } from '../observe/printable.ts';
import { randomId } from '../protocols/dialect.ts';
import type { Sources } from '../queue/task-services.ts';

/** What a model brings; everything else is shared by all models of the server. */
export interface ModelParts {
  /** The name that requests use; empty for the only model. */
  readonly name?: string;
  readonly settings: Settings;
  readonly source: TextSource;
  /** How long the model stays in memory after its last use, where the source can unload it. */
  readonly resting?: Resting;
  readonly format: ChatFormat;
  /** Of a model on a remote backend: how many requests may run at once, and its chat service. */
  readonly elsewhere?: Pick<RemoteModel, 'capacity' | 'chat'>;
  /** The engines of the other kinds. */
  readonly others?: Sources;
}

export interface Resting {
  restAfter(milliseconds: number): void;
  /** Milliseconds since 1970. */
  expiresAt(): number;
  loaded(): boolean;
}

/** What the context of a model is built from. */
export function modelParts(model: PreparedModel, registry: Registry<ModelKinds>, arrival?: Arrival): ModelParts {
  const { name, settings, format, elsewhere } = model;
  const timeout = loadTimeoutOf(settings);
  const others = taskSources(registry, model.others, timeout);
  if (!hasText(model))
    return { name, settings, format, others, source: alwaysThere(noTextEngine(settings.contextsize)) };
  const entry = () => registry.list().find((one) => one.kind === 'text' && one.name === name);
  return {
    name,
    settings,
    format,
    others,
    ...(elsewhere ? { elsewhere } : {}),
    source: textSourceOf(registry, model, { timeout, arrival }),
    resting: {
      restAfter: (milliseconds) => registry.keepFor('text', name, milliseconds),
      expiresAt: () => entry()?.expiresAt ?? Number.POSITIVE_INFINITY,
      loaded: () => entry()?.resident ?? false,
    },
  };
}

function loadTimeoutOf({ routermode, reqtimeout }: Settings): LoadTimeout | undefined {
  return routermode ? { seconds: reqtimeout, startTimer: systemTimer } : undefined;
}

interface ModelChatParts {
  readonly settings: Pick<Settings, 'jinja_kwargs' | 'mcpserverloop'>;
  readonly format: ChatFormat;
  /** The chat service of a model on a remote backend. */
  readonly elsewhere?: Pick<RemoteModel, 'chat'>;
}

/** What all models share. */
interface SharedChatParts {
  readonly tools?: ToolServers | undefined;
  readonly warn: (text: string) => void;
}

/** The chats of one model. */
export function modelChat(
  { settings, format, elsewhere }: ModelChatParts,
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
