import type { Settings } from '../config/flags.ts';
import { fixedTextSource, type TextSource } from '../core/text-service.ts';
import { systemTimer } from '../core/timers.ts';
import { noTextEngine } from '../engines/none.ts';
import type { ChatFormat } from '../models/chat-format.ts';
import { type TaskSources, taskSources } from '../models/engine-kinds.ts';
import { hasText, type PreparedModel, type RemoteModel } from '../models/prepared-model.ts';
import type { Registry } from '../models/registry.ts';
import { type Arrival, type LoadTimeout, textSourceOf } from '../models/registry-source.ts';

/** What a model brings; everything else is shared by all models of the server. */
export interface ModelSetup {
  /** The name that requests use; empty for the only model. */
  readonly name?: string;
  readonly settings: Settings;
  readonly source: TextSource;
  /** The same for summaries of other models (`--compactmodel`), which must not push out a model that is in use. */
  readonly summarySource?: TextSource;
  readonly format: ChatFormat;
  /** Of a model on a remote backend: how many requests may run at once, and its chat service. */
  readonly remote?: Pick<RemoteModel, 'capacity' | 'chat'>;
  /** The engines of the other kinds. */
  readonly taskSources?: TaskSources;
}

/** What the context of a model is built from. */
export function modelSetup(model: PreparedModel, registry: Registry, arrival?: Arrival): ModelSetup {
  const { name, settings, format, remote } = model;
  const { routermode, reqtimeout, contextsize } = settings;
  const timeout: LoadTimeout | undefined = routermode ? { seconds: reqtimeout, startTimer: systemTimer } : undefined;
  const shared = { name, settings, format, taskSources: taskSources(registry, model.taskModels, timeout) };
  if (!hasText(model)) return { ...shared, source: fixedTextSource(noTextEngine(contextsize, routermode)) };
  const own = { timeout, arrival };
  return {
    ...shared,
    ...(remote ? { remote } : {}),
    source: textSourceOf(registry, model, own),
    summarySource: textSourceOf(registry, model, { ...own, sparesBusy: true }),
  };
}
