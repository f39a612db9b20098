import { basename } from 'node:path';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { tryParseJson } from '../../core/json.ts';
import { hiddenModelName } from '../../core/model-names.ts';
import type { GenerationRequest, PromptProgress } from '../../core/request.ts';
import type { TextService } from '../../core/text-service.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { adminOnly, information, legacyOpen, read, write } from '../access.ts';
import { readControls } from '../controls/decode.ts';
import { readAdapterScales } from '../controls/table.ts';
import { type DialectContext, type DialectServices, dialectControls, modalities } from '../dialect.ts';
import { atPaths, endpointRow, type ModelEndpoint, modelInQuery } from '../endpoint.ts';
import { errorBody, llamacppDialect } from './errors.ts';
import { mediaMarker } from './prompts.ts';
import { settingsBody } from './samplers.ts';

/** What is the same for all models. */
export interface StatusServices extends DialectServices {
  readonly product: { readonly name: string; readonly version: string };
  readonly metrics: {
    exposition(text: TextService): Promise<{ readonly contentType: string; readonly text: string }>;
  };
  /** What the slots of a model do. */
  readonly slotsOf: (text: TextService) => SlotWatch;
}

export interface StatusContext extends DialectContext, StatusServices {
  /** What the loaded model can take, where it is not known from the model itself. */
  readonly modalities?: () => { readonly vision: boolean; readonly audio: boolean };
}

const row = endpointRow(information, { method: 'GET', match: 'exact', dialect: llamacppDialect });

const ofNamedModel = { modelNamed: modelInQuery, modelSelection: 'known-name' } as const;

export const statusEndpoints: readonly ModelEndpoint<StatusContext>[] = [
  row(
    '/props',
    'Chat template, context size, default settings, and whether images and sound can be read; of the model that ?model= names.',
    propsReply,
    { ...ofNamedModel, response: 'props' },
  ),
  ...atPaths(row('/health', 'Whether requests can be served now.', healthReply, { response: 'health' }), '/v1/health'),
  row('/slots', 'What runs now, in figures: no texts.', slotsReply, {
    ...legacyOpen(read('text')),
    ...ofNamedModel,
    response: 'slots',
  }),
  row('/metrics', 'Figures for Prometheus.', metricsReply, { ...legacyOpen(read()), response: 'metrics' }),
  row('/lora-adapters', 'The LoRA adapters of the text model.', loraReply, { ...read(), response: 'loras' }),
  row(
    '/props',
    'Not there: settings are given at the start of the server.',
    unsupported('This server does not support changing global properties.'),
    { ...write('admin'), method: 'POST', response: 'refused' },
  ),
  row(
    '/slots/',
    'Not there: slots cannot be saved, restored or erased.',
    unsupported('This server does not support saving, restoring or erasing slots.'),
    { ...write('text'), method: 'POST', match: 'prefix', response: 'refused' },
  ),
  row(
    '/lora-adapters',
    'Sets the scales of the LoRA adapters for requests that choose none: a list of objects with id and scale. Others get 0. Needs --admin.',
    setLora,
    { ...adminOnly, method: 'POST', response: 'setLoras' },
  ),
];

/** In the words that clients of the llama.cpp server know. */
function unsupported(sentence: string): () => Reply {
  return () => json(errorBody(501, sentence), 501);
}

const hiddenFailure = 'The model could not be loaded; the log of the server says why.';

/** A server without a text model is healthy, and so is one whose model was unloaded because it was idle. */
function healthReply({ authorized }: Call, { text }: StatusContext): Reply {
  const state = text.state();
  switch (state.type) {
    case 'ready':
    case 'none':
      return json({ status: 'ok' });
    case 'loading':
      return state.asleep ? json({ status: 'ok' }) : json(errorBody(503, 'Loading model'), 503);
    case 'failed':
      return json(
        errorBody(500, authorized ? `${state.name} could not be loaded: ${state.reason}` : hiddenFailure),
        500,
      );
  }
}

/** Load balancers ask for a failure if no slot is free. */
function slotsReply({ query }: Call, { slotsOf, text }: StatusContext): Reply {
  const slots = slotsOf(text);
  const failOnNoSlot = query.get('fail_on_no_slot');
  if (failOnNoSlot !== null && failOnNoSlot !== '0' && slots.allBusy)
    return json(errorBody(503, 'no slot available'), 503);
  return json(slots.report(text.contextSize()));
}

/** Without the folder, which is private. */
function loraReply(_: Call, { text }: StatusContext): Reply {
  const entries = text.adapters?.list() ?? [];
  return json(entries.map((entry) => ({ ...entry, path: basename(entry.path), task_name: '', prompt_prefix: '' })));
}

/** The body is a list, which no table of fields describes. */
function setLora(call: Call, { text }: StatusContext): Reply {
  const sent = tryParseJson(call.body.toString('utf8'));
  const scales = readAdapterScales(sent, 'lora');
  if (!text.adapters)
    throw new AppError('unsupported', { feature: 'lora', instead: 'start the server with --lora FILE' });
  text.adapters.set(scales);
  return json({ success: true });
}

async function metricsReply(_: Call, { metrics, text: model, startedAt }: StatusContext): Promise<Reply> {
  const { contentType, text } = await metrics.exposition(model);
  const headers = { 'content-type': contentType, 'process-start-time-unix': String(Math.floor(startedAt / 1000)) };
  return { status: 200, headers, body: text };
}

/** The properties of the server. Without the key, the name and the file of the model are hidden. */
function propsReply({ authorized }: Call, context: StatusContext): Reply {
  const state = context.text.state();
  const model = state.type === 'ready' ? state.model : undefined;
  const template = context.chat.templateText ?? model?.chatTemplate;
  const contextSize = context.text.contextSize();
  return json({
    default_generation_settings: {
      params: settingsBody(dialectControls(readControls(context.applyDefaults({})), context.controlLimits())),
      n_ctx: contextSize,
    },
    total_slots: context.slotsOf(context.text).count,
    model_alias: authorized ? context.modelName() : hiddenModelName,
    // Without the folder, which is private.
    model_path: model && authorized ? basename(model.path) : '',
    // The description has architecture, size and type of the weights.
    model_ftype: model?.description.split(' ').slice(2).join(' ') ?? '',
    modalities: { ...(context.modalities?.() ?? modalities(state)), video: false },
    media_marker: mediaMarker,
    endpoint_slots: true,
    endpoint_props: false,
    endpoint_metrics: true,
    ui: false,
    ui_settings: {},
    chat_template: template ?? null,
    chat_template_caps: templateCapabilities(template ?? ''),
    bos_token: model?.specialTokens.bos ?? '',
    eos_token: model?.specialTokens.eos ?? '',
    build_info: `${context.product.name} ${context.product.version}`,
    cors_proxy_enabled: false,
    is_sleeping: false,
    ...(context.models?.byName ? { role: 'router' } : {}),
    id: 0,
    id_task: -1,
    n_ctx: contextSize,
  });
}

/** What a chat template supports, by what it mentions. */
const capabilityWords: Readonly<Record<string, RegExp>> = {
  supports_tools: /\btools\b/,
  supports_tool_calls: /\btool_calls\b/,
  supports_parallel_tool_calls: /\bfor\b[^%]*\btool_calls\b/,
  supports_system_role: /['"]system['"]|\brole\s*\+|\brole\s*~|\brole'\]\s*\+|\brole"\]\s*\+/,
  supports_preserve_reasoning: /\breasoning_content\b/,
  supports_typed_content: /\bis\s+(not\s+)?(string|iterable|sequence)\b|\['text'\]|\["text"\]/,
};

function templateCapabilities(template: string): object {
  const capabilities = Object.entries(capabilityWords).map(([name, words]) => [name, words.test(template)]);
  return { supports_string_content: template !== '', ...Object.fromEntries(capabilities) };
}

function newTask(id: number, request: GenerationRequest, job: object) {
  const counts = { promptTokens: 0, cachedTokens: 0, processedTokens: 0, decoded: 0 };
  const { maxTokens } = request;
  return { id, job, settings: settingsBody(request), ...counts, maxTokens, newLine: false, running: true };
}

type Task = ReturnType<typeof newTask>;

/** The running generation of each slot, or the last one: figures, no texts. */
export class SlotWatch {
  readonly #slots: (Task | undefined)[];
  #nextId = 0;

  constructor(readonly count = 1) {
    this.#slots = Array.from({ length: count });
  }

  begun(request: GenerationRequest, job: object): void {
    const free = this.#slots.findIndex((task) => !task?.running);
    this.#slots[Math.max(0, free)] = newTask(this.#nextId++, request, job);
  }

  /** It does not name its generation, so it counts only while one is running. */
  promptProgress({ done }: PromptProgress): void {
    const [task, ...others] = this.#slots.filter((each) => each?.running);
    if (task && others.length === 0) task.processedTokens = done;
  }

  /** Requests that are aborted in the queue end without a start. */
  event(event: GenerationEvent, job: object): void {
    const task = this.#slots.find((each) => each?.job === job && each.running);
    if (!task) return;
    if (event.type === 'start') {
      task.promptTokens = event.promptTokens;
      task.cachedTokens = event.cachedTokens;
      task.maxTokens = event.maxTokens;
    } else if (event.type === 'text-delta') {
      task.processedTokens = task.promptTokens - task.cachedTokens;
      task.decoded += event.logprobs?.length ?? 1;
      task.newLine ||= event.text.includes('\n');
    } else if (event.type === 'finish' || event.type === 'error') {
      task.running = false;
      if (event.type === 'finish') task.decoded = event.usage.completionTokens;
    }
  }

  get allBusy(): boolean {
    return this.#slots.every((task) => task?.running);
  }

  report(contextSize: number): readonly object[] {
    return this.#slots.map((task, id) => ({
      id,
      n_ctx: contextSize,
      speculative: false,
      is_processing: task?.running ?? false,
      ...(task && {
        id_task: task.id,
        n_prompt_tokens: task.promptTokens,
        n_prompt_tokens_processed: task.processedTokens,
        n_prompt_tokens_cache: task.cachedTokens,
        params: task.settings,
        next_token: [
          {
            has_next_token: task.running,
            has_new_line: task.newLine,
            n_remain: task.running ? Math.max(0, task.maxTokens - task.decoded) : 0,
            n_decoded: task.decoded,
          },
        ],
      }),
    }));
  }
}
